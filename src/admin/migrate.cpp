#include "leasehold/migrate.hpp"

#include <algorithm>

#include "admin/migration_lock.hpp"
#include "admin/migration_store.hpp"
#include "database/database.hpp"
#include "database/schema_check.hpp"
#include "leasehold/error.hpp"
#include "session/session_store.hpp"

namespace leasehold {
namespace {

const migration* find(const migration_store& schema, int version) {
    const auto all = schema.known();
    const auto found = std::ranges::find(all, version, &migration::version);
    return found == all.end() ? nullptr : &*found;
}

int newest(const migration_store& schema) {
    return schema.known().empty() ? 0 : schema.known().back().version;
}

void require_known(const migration_store& schema, int version) {
    if (version >= 0 && version <= newest(schema)) return;
    throw error(
        errc::invalid_argument,
        "there is no migration " + std::to_string(version) + "; this program knows 0 to " +
            std::to_string(newest(schema))
    );
}

std::vector<migration_step> sound_steps(connection& on, migration_store& schema, bool resume) {
    auto records = schema.recorded(on);
    auto steps = compare(schema.known(), records);
    if (resume && records) {
        // Resuming allows only for a migration that was begun and not finished.
        for (migration_record& each : *records) {
            if (find(schema, each.version)) each.is_finished = true;
        }
        const auto excused = compare(schema.known(), records);
        for (std::size_t at = 0; at < steps.size(); ++at) steps[at].problem = excused[at].problem;
    }
    require_sound(steps);
    require_finished(steps);
    return steps;
}

migration_record record_of(const migration& file, bool is_finished) {
    return {file.version, file.name, file.checksum, is_finished};
}

// One migration, if there is one to do; each takes the lock anew and looks again, so that any
// number of processes share the work without doing any of it twice.
std::optional<migration_step> up_once(
    connection& on,
    migration_store& schema,
    std::chrono::milliseconds timeout,
    int to_version,
    bool resume
) {
    migration_lock lock{on, schema, timeout};
    const auto steps = sound_steps(on, schema, resume);
    const auto next = std::ranges::find(steps, false, &migration_step::is_applied);
    if (next == steps.end() || next->version > to_version) return std::nullopt;
    const migration& file = *find(schema, next->version);
    if (!schema.migrates_in_transactions()) schema.record(on, record_of(file, false));
    schema.apply(on, schema.texts(file.version).up);
    schema.record(on, record_of(file, true));
    lock.commit();
    migration_step done = *next;
    done.is_applied = true;
    done.is_half_applied = false;
    return done;
}

// Runs apart from the transaction of the first step, which a missing table would break: a schema
// that was damaged by hand can be taken back, too.
void require_no_live_session(connection& on, store_set& stores, int to_version) {
    const auto records = stores.get<migration_store>().recorded(on);
    if (!records || records->empty() || records->back().version <= to_version) return;
    std::vector<session_info> sessions;
    try {
        sessions = stores.get<session_store>().list(on);
    } catch (const error& failure) {
        if (failure.code() != errc::schema_missing) throw;
    }
    const auto live = std::ranges::find(sessions, true, &session_info::is_live);
    if (live == sessions.end()) return;
    throw error(
        errc::busy,
        "session " + live->node_info +
            " is live: stop every program that uses these tables, then run it again"
    );
}

std::optional<migration_step> down_once(
    connection& on, migration_store& schema, std::chrono::milliseconds timeout, int to_version
) {
    migration_lock lock{on, schema, timeout};
    // Looks for the tables under the lock: otherwise another program could drop them between the
    // look and the read.
    if (!schema.recorded(on)) return std::nullopt;
    auto steps = sound_steps(on, schema, true);
    std::erase_if(steps, [](const migration_step& step) {
        return !step.is_applied && !step.is_half_applied;
    });
    if (steps.empty()) {
        schema.drop_records(on);
        lock.commit();
        return std::nullopt;
    }
    const migration_step last = steps.back();
    if (last.version <= to_version) return std::nullopt;
    if (last.is_newer) {
        throw error(
            errc::schema_mismatch,
            "migration " + std::to_string(last.version) + " (" + last.name +
                ") is newer than this program knows, which cannot take it back: use the newer one"
        );
    }
    const migration& file = *find(schema, last.version);
    if (!schema.migrates_in_transactions()) schema.record(on, record_of(file, false));
    schema.apply(on, schema.texts(last.version).down);
    schema.forget(on, last.version);
    if (steps.size() == 1) schema.drop_records(on);
    lock.commit();
    return last;
}

}  // namespace

std::vector<migration_step> migrate(const database& db, const migrate_settings& settings) {
    db.inner()->create();
    const auto timeout = db.inner()->settings().statement_timeout;
    std::vector<migration_step> done;
    db.inner()->use_unchecked([&](connection& on, store_set& stores) {
        migration_store& schema = stores.get<migration_store>();
        const int to = settings.to_version.value_or(newest(schema));
        require_known(schema, to);
        while (auto step = up_once(on, schema, timeout, to, settings.resume)) {
            done.push_back(std::move(*step));
        }
    });
    db.inner()->forget_schema();
    return done;
}

std::vector<migration_step> migrate_down(const database& db, int to_version) {
    const auto timeout = db.inner()->settings().statement_timeout;
    std::vector<migration_step> done;
    db.inner()->use_unchecked([&](connection& on, store_set& stores) {
        require_known(stores.get<migration_store>(), to_version);
        require_no_live_session(on, stores, to_version);
        while (auto step = down_once(on, stores.get<migration_store>(), timeout, to_version)) {
            done.push_back(std::move(*step));
        }
    });
    db.inner()->forget_schema();
    return done;
}

std::vector<migration_step> migration_status(const database& db) {
    return db.inner()->use_unchecked([&](connection& on, store_set& stores) {
        return compare(
            stores.get<migration_store>().known(), stores.get<migration_store>().recorded(on)
        );
    });
}

std::vector<installation> list_installations(const database& db) {
    try {
        return db.inner()->use_unchecked([&](connection& on, store_set& stores) {
            return stores.get<migration_store>().installations(on);
        });
    } catch (const error& failure) {
        if (failure.code() == errc::schema_missing) return {};
        throw;
    }
}

void require_schema(const database& db) {
    db.inner()->use_unchecked([&](connection& on, store_set& stores) {
        require_schema(on, stores.get<migration_store>());
    });
}

std::string migration_sql(engine which, const table_names& names, int from, std::optional<int> to) {
    const auto stores = make_stores(which, names);
    const migration_store& schema = stores->get<migration_store>();
    const int until = to.value_or(newest(schema));
    require_known(schema, from);
    require_known(schema, until);
    return schema.script(from, until);
}

std::string grants_sql(engine which, const table_names& names, std::string_view user) {
    const bool is_of_host = which == engine::mysql || which == engine::mariadb;
    const bool lacks_part =
        user.empty() || (is_of_host && (user.starts_with('@') || user.ends_with('@')));
    const bool has_controls =
        std::ranges::any_of(user, [](unsigned char each) { return each < ' ' || each == 0x7f; });
    if (lacks_part || has_controls) {
        throw error(
            errc::invalid_argument,
            is_of_host ? "the user to grant rights to must be app or app@host, without control "
                         "characters"
                       : "the user to grant rights to must be the name of a role, without control "
                         "characters"
        );
    }
    return make_stores(which, names)->get<migration_store>().grants(user);
}

}  // namespace leasehold
