#include "leasehold/grant_history.hpp"

#include "admin/history_store.hpp"
#include "admin/migration_lock.hpp"
#include "admin/require_prefix.hpp"
#include "database/database.hpp"
#include "database/read.hpp"
#include "leasehold/error.hpp"

namespace leasehold {
namespace {

void require_valid(const std::optional<std::chrono::microseconds>& keep) {
    constexpr std::chrono::microseconds least = std::chrono::minutes{1};
    constexpr std::chrono::microseconds most = std::chrono::hours{24L * 366 * 100};
    if (!keep || (*keep >= least && *keep <= most)) return;
    throw error(errc::invalid_argument, "history is kept for 1 minute to 100 years");
}

void require_valid(const grant_filter& filter) {
    constexpr int most = 100'000;
    if (filter.limit < 1 || filter.limit > most) {
        throw error(errc::invalid_argument, "a list of grants has a limit of 1 to 100000");
    }
    require_prefix(filter.prefix);
    if (filter.ended_within && *filter.ended_within < std::chrono::microseconds{0}) {
        throw error(errc::invalid_argument, "ended_within must not be negative");
    }
}

// A change of triggers excludes migrations and other such changes.
template <class Change>
void change_history(const database& db, Change&& make) {
    try {
        db.inner()->use([&](connection& on, store_set& stores) {
            migration_lock lock{
                on, stores.get<migration_store>(), db.inner()->settings().statement_timeout};
            make(on, stores.get<history_store>());
            lock.commit();
        });
    } catch (const error& failure) {
        if (failure.code() != errc::permission_denied) throw;
        throw error{
            errc::permission_denied,
            "history is turned on and off by who migrates, on MySQL and MariaDB with the right "
            "TRIGGER, too, and where the server writes a binary log with SUPER or "
            "log_bin_trust_function_creators = 1: " +
                std::string{failure.what()},
            {failure.sqlstate(), failure.native_code(), failure.server_message(), false}};
    }
}

}  // namespace

grant_history_status grant_history_state(const database& db) {
    return read(db, [](connection& on, store_set& stores) {
        return stores.get<history_store>().status(on);
    });
}

void enable_grant_history(const database& db, std::optional<std::chrono::microseconds> keep) {
    require_valid(keep);
    change_history(db, [&](connection& on, history_store& history) { history.start(on, keep); });
}

void disable_grant_history(const database& db) {
    change_history(db, [](connection& on, history_store& history) { history.stop(on); });
}

std::vector<grant_record> list_grants(const database& db, const grant_filter& filter) {
    require_valid(filter);
    return read(db, [&](connection& on, store_set& stores) {
        return stores.get<history_store>().list(on, filter);
    });
}

std::vector<grant_record> list_grants_of(
    const database& db, const key& name, const grant_filter& filter
) {
    require_valid(filter);
    return read(db, [&](connection& on, store_set& stores) {
        return stores.get<history_store>().list_of(on, name, filter);
    });
}

}  // namespace leasehold
