#include "driver/postgres_left.hpp"

#include <chrono>

#include "driver/postgres_settings.hpp"
#include "leasehold/connection.hpp"

namespace leasehold::postgres {
namespace {

using std::chrono::milliseconds;

class process_left final : public left_work {
public:
    process_left(int process, server_origin on, local_clock::time_point given_up)
        : process_(process), on_(std::move(on)), given_up_(given_up) {}

    local_clock::time_point limit() const noexcept override {
        return local_clock::time_point::max();
    }

    // The system may give the number of the process to another server process, which has begun
    // since: so this compares the start.
    bool has_ended(connection& by) override {
        const std::string sql =
            "WITH session AS MATERIALIZED (SELECT pg_stat_get_activity($1::int) AS it WHERE " +
            origin_words(on_.how) +
            " = $2) SELECT pg_terminate_backend((it).pid) FROM session"
            " WHERE (it).backend_start < clock_timestamp() - $3::bigint * interval '1 ms'";
        const auto age =
            std::chrono::duration_cast<milliseconds>(local_clock::now() - given_up_).count();
        return by.execute(sql, {process_, on_.text, std::int64_t{age}}).rows.empty();
    }

private:
    const int process_;
    const server_origin on_;
    const local_clock::time_point given_up_;
};

class bounded final : public left_work {
public:
    explicit bounded(local_clock::time_point limit) : limit_(limit) {}
    local_clock::time_point limit() const noexcept override { return limit_; }
    bool has_ended(connection&) override { return local_clock::now() >= limit_; }

private:
    const local_clock::time_point limit_;
};

}  // namespace

std::unique_ptr<left_work> left_process(
    int process, const server_origin& on, local_clock::time_point given_up
) {
    return std::make_unique<process_left>(process, on, given_up);
}

std::unique_ptr<left_work> left_behind_pooler(local_clock::time_point given_up) {
    constexpr milliseconds second_look{1500};
    return std::make_unique<bounded>(given_up + second_look);
}

}  // namespace leasehold::postgres
