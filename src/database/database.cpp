#include "database/database.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <optional>
#include <thread>

#include "core/jitter.hpp"
#include "core/process.hpp"
#include "database/schema_check.hpp"
#include "database/schema_store.hpp"
#include "leasehold/error.hpp"
#include "session/session_store.hpp"
#include "sql/dialects.hpp"
#include "sql/sql_text.hpp"
#include "sql/transaction_words.hpp"

namespace leasehold {
namespace {

using std::chrono::milliseconds;

void require_between(const char* name, milliseconds given, milliseconds least, milliseconds most) {
    if (given >= least && given <= most) return;
    throw error(
        errc::invalid_argument,
        std::string(name) + " is " + std::to_string(given.count()) + " ms; it must be " +
            std::to_string(least.count()) + " to " + std::to_string(most.count()) + " ms"
    );
}

database_settings checked(database_settings settings) {
    constexpr milliseconds hour{3'600'000};
    require_valid(settings.names);
    require_wakeup_address(settings.wakeup_address);
    require_between("connect_timeout", settings.connect_timeout, milliseconds{100}, hour);
    require_between("pool_timeout", settings.pool_timeout, milliseconds{1}, hour);
    require_between("statement_timeout", settings.statement_timeout, milliseconds{100}, hour);
    if (settings.max_connections < 1 || settings.max_connections > 1000) {
        throw error(errc::invalid_argument, "max_connections must be 1 to 1000");
    }
    return settings;
}

// A number of 63 bits, and not 0.
std::int64_t random_branch() {
    const identity random = identity::random();
    std::int64_t number = 0;
    std::memcpy(&number, random.bytes().data(), sizeof number);
    return std::max<std::int64_t>(number & std::numeric_limits<std::int64_t>::max(), 1);
}

void require_standbys_of(engine found, const database_settings& settings) {
    if (!settings.requires_standby || found == engine::postgres) return;
    throw error(
        errc::unsupported,
        "requires_standby is for PostgreSQL, and this is " + std::string(name_of(found)) +
            ": here no statement can tell whether its commit will wait for a replica"
    );
}

void refuse_transaction_control(std::string_view sql, engine which) {
    if (!is_transaction_control(sql, which)) return;
    throw error(
        errc::wrong_transaction,
        "execute() takes no statement that begins or ends a transaction: use database::begin(), "
        "transaction::commit() and rollback(); nothing was done"
    );
}

}  // namespace

std::unique_ptr<store_set> make_stores(
    engine which, const table_names& names, written_nodes written
) {
    const auto dialect = [&] {
        switch (which) {
            case engine::postgres:
                return make_postgres_dialect(names, written);
            case engine::mysql:
            case engine::mariadb:
                return make_mysql_dialect(names, which, written);
            case engine::sqlite:
                return make_sqlite_dialect(names);
        }
        throw error(errc::unsupported, "the model database has no dialect");
    };
    return std::make_unique<store_set>(dialect());
}

database::implementation::implementation(
    connector connect, connector create, database_settings settings
)
    : settings_(checked(std::move(settings))),
      create_(std::move(create)),
      pool_(entering(std::move(connect)), settings_) {}

database::implementation::implementation(
    connector connect, std::unique_ptr<store_set> given, database_settings settings
)
    : settings_(checked(std::move(settings))),
      pool_(std::move(connect), settings_),
      stores_(std::move(given)),
      schema_checked_(true) {}

store_set& database::implementation::store_for(connection& on) {
    const thread_guard guard{mutex_};
    const engine found = on.server().engine;
    if (!stores_) {
        require_standbys_of(found, settings_);
        const bool needs_one = settings_.requires_standby;
        stores_ = make_stores(
            found, settings_.names, needs_one ? written_nodes::one_with_standby : written_nodes::one
        );
        engine_ = found;
    } else if (engine_ != found) {
        throw error(
            errc::unsupported,
            "the server was " + std::string(name_of(engine_)) + " and now is " +
                std::string(name_of(found)) + "; open the database again"
        );
    }
    return has_several_writers_ ? *cluster_stores_ : *stores_;
}

connector database::implementation::entering(connector connect) {
    return [this, connect = std::move(connect)](const connect_limits& within) {
        bool is_admitted = false;
        connect_limits asked = within;
        asked.admit = [&](connection& on) {
            admit(on);
            is_admitted = true;
        };
        auto made = connect(asked);
        if (!is_admitted) admit(*made);
        return made;
    };
}

// A connection to a server that is known to be a cluster begins with the cluster's settings.
void database::implementation::admit(connection& on) {
    if (has_several_writers_) store_for(on).get<session_store>().enter_cluster(on);
    if (!schema_checked_) return;
    session_store::replication found;
    try {
        found = store_for(on).get<session_store>().look_at_replication(on);
    } catch (const error&) {
        return;  // the first statement of a caller tells of that
    }
    heed(on, found);
}

void database::implementation::heed(connection& on, const session_store::replication& found) {
    tell_standbys(found);
    if (!found.branch || on.server().place.empty()) return;
    require_branch(on.server().place, {*found.branch, found.incarnation}, [&] {
        session_store& sessions = store_for(on).get<session_store>();
        if (!sessions.begin_branch(on, random_branch())) return std::int64_t{0};
        return sessions.look_at_replication(on).branch.value_or(0);
    });
}

void database::implementation::look_for_cluster(connection& on) {
    const bool is_one =
        has_several_writers_ || store_for(on).get<session_store>().has_several_writers(on);
    if (is_one) go_on_in_cluster(on);
    heed(on, store_for(on).get<session_store>().look_at_replication(on));
}

void database::implementation::require_branch(
    const std::string& place, branch seen, const std::function<std::int64_t()>& begin
) {
    const auto known = [&] {
        const thread_guard guard{mutex_};
        const auto found = branches_.find(place);
        return found == branches_.end() ? branch{} : found->second;
    }();
    // True for the same start of the same server: then its tables were made anew.
    const bool is_same_start = known.incarnation == seen.incarnation;
    if (seen.number == 0 && (known.number == 0 || is_same_start)) {
        try {
            seen.number = begin();
        } catch (const error&) {
            return;  // the next connection tries again
        }
        if (seen.number == 0) return;
    }
    if (known.number == 0 || known.number == seen.number || is_same_start) {
        const thread_guard guard{mutex_};
        branches_[place] = seen;
        return;
    }
    throw error(
        errc::connection_failed,
        "this server has another branch of timeline " + place.substr(place.find('/') + 1) +
            " than the one this program has used: two servers were promoted, each for itself, and "
            "what was granted on one is not known to the other. Stop this one, or make it a "
            "standby of that one. Where the tables were dropped and made anew, restart this "
            "program",
        {.is_passing = true}
    );
}

void database::implementation::forget_schema() noexcept {
    schema_checked_ = is_readable_ = false;
    const thread_guard guard{mutex_};
    branches_.clear();  // their rows may have been dropped
}

void database::implementation::tell_standbys(const session_store::replication& found) {
    if (!found.waits && found.standbys.empty()) return;  // a standby knows nothing of that
    std::string problem = found.standbys;
    {
        const thread_guard guard{mutex_};
        if (problem.empty() && has_waited_ && found.waits == false) {
            problem =
                "PostgreSQL waits for no standby any more: synchronous_standby_names is empty now; "
                "where a standby is promoted, grants may be forgotten and tokens given twice";
        }
        has_waited_ = has_waited_ || found.waits == true;
        if (std::exchange(told_standbys_, problem) == problem) return;
    }
    if (!problem.empty()) tell({event_kind::warning, "", 0, problem});
}

bool database::implementation::is_look_due() noexcept {
    const auto now = local_clock::now();
    auto next = next_look_.load();
    return now >= next && next_look_.compare_exchange_strong(next, now + look_interval);
}

void database::implementation::go_on_in_cluster(connection& on) {
    if (settings_.one_node_is_written_to) return;
    if (!has_several_writers_) {
        auto made = make_stores(on.server().engine, settings_.names, written_nodes::several);
        const thread_guard guard{mutex_};
        if (!has_several_writers_) cluster_stores_ = std::move(made);
        has_several_writers_ = true;
        pool_.fill_anew();
    }
    store_for(on).get<session_store>().enter_cluster(on);
}

store_set& database::implementation::ready_store(connection& on) {
    store_set& stores = store_for(on);
    if (!schema_checked_) {
        const server_environment found = stores.get<session_store>().environment(on);
        // Another node may have made the tables a moment ago, so this node may not show them yet.
        if (found.has_several_writers) go_on_in_cluster(on);
        const std::string newer = require_schema(on, stores.get<schema_store>());
        for (const std::string& problem : {newer, found.problem()}) {
            if (!problem.empty()) tell({event_kind::warning, "", 0, problem});
        }
        heed(on, stores.get<session_store>().look_at_replication(on));
        schema_checked_ = true;
    }
    return store_for(on);
}

store_set& database::implementation::readable_store(connection& on) {
    if (is_readable_ || schema_checked_) return store_for(on);
    std::string refusal;
    try {
        return ready_store(on);
    } catch (const error& refused) {
        if (refused.code() != errc::read_only && refused.code() != errc::unsupported) throw;
        refusal = refused.what();
    }
    look_for_cluster(on);
    const std::string newer = require_schema(on, store_for(on).get<schema_store>());
    for (const std::string& problem : {newer, refusal}) {
        if (!problem.empty()) tell({event_kind::warning, "", 0, problem});
    }
    is_readable_ = true;
    return store_for(on);
}

std::string database::implementation::place() {
    {
        const thread_guard guard{mutex_};
        if (!place_.empty()) return place_;
    }
    return place_now();
}

std::string database::implementation::place_now() {
    // A new connection: an idle one may lead to a server that is not the primary any more.
    auto apart = pool_.connect_apart(settings_.connect_timeout);
    std::string found;
    try {
        found = heard(bounds{}, *apart, [&] {
            return ready_store(*apart).get<schema_store>().place(*apart);
        });
    } catch (...) {
        pool_.retire(std::move(apart));
        throw;
    }
    pool_.retire(std::move(apart));
    const thread_guard guard{mutex_};
    return place_ = std::move(found);
}

void database::implementation::get_ready() {
    if (!schema_checked_) return use([](connection&, store_set&) {});
    const bool may_be_cluster = which() == engine::mysql || which() == engine::mariadb;
    if (!may_be_cluster || !is_look_due()) return;
    use_beside(bounds{}, [this](connection& on, store_set&) { look_for_cluster(on); });
}

void database::implementation::create() {
    if (create_) create_(settings_.connect_timeout);
}

database::database(connector connect, database_settings settings)
    : database(std::move(connect), nullptr, std::move(settings)) {}

database::database(connector connect, connector create, database_settings settings)
    : inner_(
          make_at_home<implementation>(std::move(connect), std::move(create), std::move(settings))
      ) {}

result database::execute(std::string_view sql, const parameters& values) const {
    return inner_->use_unchecked([&](connection& on, store_set&) {
        refuse_transaction_control(sql, on.server().engine);
        result answer = on.execute(sql, values);
        // A connection that a fail-over has made useless is lost, though the statement was done.
        const auto left = on.state();
        if (left == connection_state::idle || left == connection_state::lost) return answer;
        on.rollback();
        throw error(
            errc::wrong_transaction,
            "the statement left a transaction open, which was rolled back: use database::begin()"
        );
    });
}

server_info database::server() const {
    return inner_->use_unchecked([](connection& on, store_set&) { return on.server(); });
}

pool_use database::pool_usage() const {
    return inner_->connections().use();
}

void database::require_attempts(int attempts) {
    if (attempts >= 1) return;
    throw error(
        errc::invalid_argument,
        "in_transaction() is to make " + std::to_string(attempts) + " attempts: give it 1 or more"
    );
}

bool database::may_repeat(const error& failure, int attempt, int attempts) {
    const bool was_undone = failure.code() == errc::transient && !failure.outcome_is_unknown();
    if (!was_undone || attempt >= attempts) return false;
    constexpr std::chrono::milliseconds first{5}, longest{500};
    std::this_thread::sleep_for(backed_off(attempt, first, longest));
    return true;
}

const database_settings& database::settings() const& {
    return inner_->settings();
}

// ---------------------------------------------------------------------------------------------

class transaction::state {
public:
    explicit state(std::shared_ptr<database::implementation> from)
        : from_(std::move(from)), on_(std::make_shared<lent_connection>(from_->connections())) {
        (*on_)->set_is_callers(true);
        (*on_)->begin();
        from_->open_transactions().begin(**on_);
    }
    ~state() { rollback(); }
    state(const state&) = delete;
    state& operator=(const state&) = delete;

    connection& inside() {
        from_->connections().require_at_home();
        if (!on_) refuse_ended();
        // A deadlock on MySQL and MariaDB has ended it, or INSERT OR ROLLBACK on SQLite. The next
        // statement would commit by itself.
        if ((*on_)->state() == connection_state::idle) {
            throw error(
                errc::wrong_transaction,
                "the database has rolled the transaction back, by the failure of a statement in "
                "it: begin another one"
            );
        }
        from_->open_transactions().note_thread(**on_);
        return **on_;
    }
    // It expires when the transaction ends.
    std::weak_ptr<const void> open() const noexcept { return on_; }
    [[noreturn]] static void refuse_ended() {
        throw error(errc::wrong_transaction, "the transaction has ended; begin another one");
    }
    void commit() {
        inside();
        const lent_connection ending{std::move(*on_)};  // returns to the pool in any case
        on_.reset();
        try {
            ending->commit();
        } catch (...) {
            ending->rollback();  // ends all that still can end; harmless if nothing is open
            from_->open_transactions().end(*ending);
            throw;
        }
        tell_of_commit(*ending, from_->open_transactions().end(*ending));
    }
    // The transaction has committed, whether or not this succeeds.
    static void tell_of_commit(
        connection& on, const std::map<std::string, open_transactions::after_commit>& all
    ) noexcept {
        for (const auto& [name, tell] : all) {
            try {
                tell(on);
            } catch (const std::exception&) {  // NOLINT(bugprone-empty-catch)
                // A notification is a hint: others look by themselves.
            }
        }
    }
    void rollback() noexcept {
        if (!on_ || !from_->connections().is_at_home()) return;
        (*on_)->rollback();
        from_->open_transactions().end(**on_);
        on_.reset();
    }

private:
    std::shared_ptr<database::implementation> from_;
    std::shared_ptr<lent_connection> on_;  // null once it has ended; references watch it
};

transaction::transaction(std::unique_ptr<state> held) : held_(std::move(held)) {}
transaction::transaction(transaction&&) noexcept = default;
transaction& transaction::operator=(transaction&&) noexcept = default;
transaction::~transaction() = default;

transaction database::begin() const {
    return transaction{std::make_unique<transaction::state>(inner_)};
}

result transaction::execute(std::string_view sql, const parameters& values) {
    connection& on = held_->inside();
    refuse_transaction_control(sql, on.server().engine);
    return on.execute(sql, values);
}
void transaction::commit() {
    held_->commit();
}
void transaction::rollback() noexcept {
    if (held_) held_->rollback();
}
transaction::operator transaction_ref() & {
    transaction_ref made{held_->inside()};
    made.open_ = held_->open();
    return made;
}
connection& transaction_ref::inside() const {
    if (open_ && open_->expired()) transaction::state::refuse_ended();
    return *inside_;
}

}  // namespace leasehold
