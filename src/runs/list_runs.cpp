#include "core/utf8.hpp"
#include "database/database.hpp"
#include "leasehold/error.hpp"
#include "leasehold/once.hpp"
#include "locks/repeatedly.hpp"
#include "runs/run_store.hpp"

namespace leasehold {
namespace {

// Skips a schedule that this host cannot read, such as one whose zone it lacks.
run_info with_fire_times(const run_look& seen) {
    run_info run = seen.last.value();
    if (run.schedule_text.empty()) return run;
    try {
        const auto when = schedule::parse(run.schedule_text);
        run.next = when.next(seen.now);
        const auto current = when.previous(seen.now);
        if (current > run.tick) run.overdue = current;
    } catch (const error& failure) {
        const bool is_strange =
            failure.code() == errc::invalid_argument || failure.code() == errc::unsupported;
        if (!is_strange) throw;
    }
    return run;
}

}  // namespace

std::vector<run_info> list_runs(const database& db, std::string_view prefix) {
    if (prefix.size() > key::max_bytes || !is_utf8(prefix)) {
        throw error(errc::invalid_argument, "a prefix of names is UTF-8 of at most 255 bytes");
    }
    constexpr int page_size = 1000;
    std::vector<run_info> all;
    while (true) {
        const std::string after = all.empty() ? "" : all.back().name;
        const auto page = read_repeatedly(db, [&](connection& on, store_set& stores) {
            return stores.get<run_store>().list(on, prefix, after, page_size);
        });
        for (const run_look& each : page) all.push_back(with_fire_times(each));
        if (page.size() < page_size) return all;
    }
}

bool forget_run(const database& db, const key& name) {
    return db.inner()->use([&](connection& on, store_set& stores) {
        return stores.get<run_store>().forget(on, name);
    });
}

}  // namespace leasehold
