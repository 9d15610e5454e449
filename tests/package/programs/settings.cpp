// The code of a newcomer: one setting of many, by its name. Compiled with all warnings.
#include <leasehold/driver/sqlite.hpp>
#include <leasehold/leasehold.hpp>

using namespace std::chrono_literals;

int main() {
    const leasehold::database_settings database{.max_connections = 1};
    const leasehold::database_settings named{.names = {.prefix = "x_"}};
    const leasehold::database_settings in_schema{.names = {.schema = "ops"}};
    const leasehold::session_settings session{.ttl = 5s};
    const leasehold::mutex_settings mutex{.recursive = true};
    const leasehold::shared_mutex_settings shared_mutex{.max_poll = 1s};
    const leasehold::semaphore_settings semaphore{.max_poll = 1s};
    const leasehold::latch_settings latch{.max_poll = 1s};
    const leasehold::barrier_settings barrier{.max_poll = 1s};
    const leasehold::multi_lock_settings multi_lock{.min_poll = 5ms};
    const leasehold::quorum_settings quorum{.session = {.name = "q"}};
    const leasehold::election_settings election{.min_poll = 5ms};
    const leasehold::leader_watch_settings watch{.min_poll = 5ms};
    const leasehold::once_settings once{.repeat_abandoned = false};
    const leasehold::run_result result{.has_succeeded = false};
    const leasehold::reap_settings reap{.timeout = 1s};
    const leasehold::migrate_settings migrate{.resume = true};
    const leasehold::error_facts facts{.native_code = 7};
    const leasehold::event event{.number = 7};
    const leasehold::versioned_mapping seats{
        .table = "seat", .key = {"id"}, .version = "version", .state = {.column = "status"}};
    const leasehold::row_mapping tasks{
        .table = "task", .where = {{.column = "state"}}, .order = {"id"}};
    const leasehold::claim_choice choice{.max_candidates = 8};
    return database.max_connections + event.number == 8 ? 0 : 1;
}
