// The SQLite driver. No SQL but BEGIN, COMMIT, ROLLBACK and the connection's own settings.
#include "leasehold/driver/sqlite.hpp"

#include <sqlite3.h>

#include <algorithm>
#include <list>
#include <map>
#include <optional>
#include <thread>
#include <utility>

#include "core/jitter.hpp"
#include "core/numbered_parameters.hpp"
#include "core/statement_words.hpp"
#include "driver/sqlite_errors.hpp"
#include "driver/sqlite_file.hpp"
#include "driver/sqlite_nap.hpp"
#include "driver/sqlite_values.hpp"
#include "driver/sqlite_watch.hpp"
#include "driver/sqlite_writer_queue.hpp"
#include "leasehold/clock.hpp"
#include "leasehold/error.hpp"

namespace leasehold {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds default_statement_timeout{10'000};

struct finalizer {
    void operator()(sqlite3_stmt* statement) const noexcept { sqlite3_finalize(statement); }
};
using statement_handle = std::unique_ptr<sqlite3_stmt, finalizer>;

class sqlite_connection final : public connection {
public:
    // `writers`: the queue of the file's writers; null if the connection is borrowed.
    sqlite_connection(
        sqlite3* handle, std::string path, std::shared_ptr<sqlite::writer_queue> writers
    )
        : handle_(handle),
          is_owned_(writers != nullptr),
          path_(std::move(path)),
          writing_(std::move(writers)) {
        server_.engine = engine::sqlite;
        const int number = sqlite3_libversion_number();  // 3040001 is 3.40.1
        server_.version =
            number / 1'000'000 * 10'000 + number / 1'000 % 1'000 * 100 + number % 1'000;
        server_.version_text = sqlite3_libversion();
        if (is_owned_) {
            sqlite3_extended_result_codes(handle_, 1);
            sqlite3_busy_handler(handle_, &on_busy, this);
            // Every thousand steps: often enough for a deadline, too rarely to cost anything.
            sqlite3_progress_handler(handle_, 1000, &on_progress, this);
        }
    }
    ~sqlite_connection() override {
        prepared_.clear();
        by_text_.clear();
        if (!is_owned_) return;
        // Commits are flushed already. A short log stays for the next process: otherwise the last
        // process to close would move it into the database and flush both. The log of a migration
        // does not stay: people copy the file after it.
        if (!has_run_scripts_ && sqlite::size_of_log(path_) <= max_log_left) {
            sqlite3_db_config(handle_, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
        }
        sqlite3_close_v2(handle_);
    }

    const server_info& server() const noexcept override { return server_; }

    connection_state state() noexcept override {
        if (is_lost_) return connection_state::lost;
        const bool is_autocommit = sqlite3_get_autocommit(handle_) != 0;
        return is_autocommit ? connection_state::idle : connection_state::in_transaction;
    }

    result execute(std::string_view sql, const parameters& values) override {
        start();
        const leaving behind{*this};
        sqlite3_stmt* const statement = prepare_kept(sql);
        if (bind(statement, values, 0) != values.size()) wrong_count(values.size());
        return run(statement);
    }

    result execute_script(std::string_view sql, const parameters& values) override {
        start();
        refuse_zero_byte(sql);
        has_run_scripts_ = true;
        const leaving behind{*this};
        result last;
        std::size_t bound = 0;  // by ? so far
        while (!sql.empty()) {
            sqlite3_stmt* made = nullptr;
            const char* rest = nullptr;
            const int size = static_cast<int>(sql.size());
            check(sqlite3_prepare_v2(handle_, sql.data(), size, &made, &rest));
            const statement_handle statement{made};
            sql.remove_prefix(static_cast<std::size_t>(rest - sql.data()));
            if (!made) continue;  // a comment or white space
            const std::size_t highest = bind(made, values, bound);
            if (!is_numbered(made)) bound = highest;
            result answer = run(made);
            const bool is_query = sqlite3_column_count(made) > 0;
            if (is_query) last = std::move(answer);
        }
        return last;
    }

    void begin() override {
        require_owned("begin");
        if (state() != connection_state::idle) {
            throw error(errc::wrong_transaction, "a transaction is open already; end it first");
        }
        start();
        if (writing_.is_behind_this_thread()) refuse_to_wait_for_itself();
        // If another process writes, the first writer of the queue may keep asking for long; so
        // this wait is bounded.
        writing_.enter(local_clock::now() + limit_ / 4);
        if (is_callers()) writing_.note_thread();
        try {
            run(prepare_kept("BEGIN IMMEDIATE"));
        } catch (...) {
            writing_.leave();
            throw;
        }
    }
    void commit() override {
        require_owned("commit");
        if (state() != connection_state::in_transaction) {
            throw error(errc::wrong_transaction, "there is no transaction to commit");
        }
        execute("COMMIT", {});
    }
    void rollback() noexcept override {
        if (is_owned_ && sqlite3_get_autocommit(handle_) == 0) {
            sqlite3_exec(handle_, "ROLLBACK", nullptr, nullptr, nullptr);
        }
        leave_if_done();
    }

    // The switch needs the file for itself and, unlike other statements, fails at once if somebody
    // else has it: at a first start, another process that is switching it, too.
    void switch_to_wal() {
        const auto until = local_clock::now() + limit_;
        for (int naps = 0;; ++naps) {
            try {
                execute("PRAGMA journal_mode = WAL", {});
                return;
            } catch (const error& failure) {
                if (failure.code() != errc::transient || local_clock::now() >= until) throw;
            }
            const auto left = until - local_clock::now();
            nap(naps, limit_ - left, left);
        }
    }

    void set_statement_timeout(milliseconds limit) override {
        limit_ = std::max(limit, milliseconds{1});
    }

    // Tells of other connections' commits of any kind: there is one channel, without a payload.
    bool can_notify() const noexcept override { return is_owned_; }
    void listen(std::string_view channel) override {
        require_owned("listen");
        channel_ = channel;
        watch_.emplace(path_);
        heard_version_ = data_version();
    }
    // The log is written to before its commit can be seen, which waits for the disk: after an event
    // this asks for the version at once and then again and again, less often the longer it takes. A
    // call whose time runs out returns before that; the next call goes on with it.
    std::optional<notification> wait_for_notification(milliseconds timeout) override {
        if (!watch_) return connection::wait_for_notification(timeout);
        const auto until = local_clock::now() + timeout;
        for (;;) {
            if (sees_commit()) {
                written_at_.reset();
                return notification{channel_, ""};
            }
            if (written_at_ && local_clock::now() - *written_at_ > max_commit) written_at_.reset();
            if (!written_at_) {
                if (!watch_->wait(until)) return std::nullopt;
                written_at_ = local_clock::now();
                // `written_at_` stays set here: the next commit may have begun to write already.
                if (sees_commit()) return notification{channel_, ""};
            }
            const auto now = local_clock::now();
            if (now >= until) return std::nullopt;
            const auto pause = std::clamp((now - *written_at_) / 4, pause_min, max_pause);
            std::this_thread::sleep_for(std::min(pause, until - now));
        }
    }

private:
    static constexpr std::size_t max_prepared = 128;
    // The next process that opens the database reads all of it: half a millisecond. SQLite itself
    // empties a log of four times this length in the midst of its writers.
    static constexpr std::int64_t max_log_left = 1 << 20;
    // The time between an event and the commit that can be seen: longer than a flush takes.
    static constexpr local_clock::duration max_commit = milliseconds{40};
    static constexpr local_clock::duration pause_min = std::chrono::microseconds{250};
    static constexpr local_clock::duration max_pause = milliseconds{4};

    bool sees_commit() {
        const auto version = data_version();
        return std::exchange(heard_version_, version) != version;
    }
    std::int64_t data_version() {
        return execute("PRAGMA data_version", {}).rows.at(0).integer("data_version");
    }

    static int on_busy(void* self, int naps) {
        auto& me = *static_cast<sqlite_connection*>(self);
        const auto left = me.deadline_ - local_clock::now();
        me.waits_for_itself_ = me.writing_.is_behind_this_thread();
        if (left <= local_clock::duration{0} || me.waits_for_itself_) return 0;
        nap(naps, me.limit_ - left, left);
        return 1;
    }
    static void nap(int naps, local_clock::duration waited, local_clock::duration left) {
        std::this_thread::sleep_for(jittered(sqlite::nap_before_asking_again(naps, waited, left)));
    }
    static int on_progress(void* self) {
        return local_clock::now() >= static_cast<sqlite_connection*>(self)->deadline_ ? 1 : 0;
    }

    // A transaction ends by a COMMIT, and by some failures of any statement.
    void leave_if_done() noexcept {
        if (sqlite3_get_autocommit(handle_) != 0) writing_.leave();
    }
    struct leaving {
        sqlite_connection& on;
        ~leaving() { on.leave_if_done(); }
    };

    // If the file was replaced, new connections open the copy: nobody would see what this one
    // writes to the old file.
    void start() {
        deadline_ = local_clock::now() + limit_;
        waits_for_itself_ = false;
        int has_moved = 0;
        if (is_owned_ && sqlite3_get_autocommit(handle_) != 0) {
            sqlite3_file_control(handle_, "main", SQLITE_FCNTL_HAS_MOVED, &has_moved);
        }
        leave_if_done();  // by itself, while somebody else wrote
        if (is_callers()) writing_.note_thread();
        if (has_moved == 0) return;
        is_lost_ = true;
        throw error(errc::connection_lost, "SQLite database " + path_ + " was replaced or removed");
    }

    void require_owned(const char* what) const {
        if (is_owned_) return;
        throw error(
            errc::unsupported,
            std::string(what) + " is the caller's own business on a borrowed connection"
        );
    }

    [[noreturn]] static void wrong_count(std::size_t given) {
        throw error(
            errc::invalid_argument,
            "a statement has more or fewer parameters ($1 or ?) than the " + std::to_string(given) +
                " values given for them"
        );
    }

    void check(int code) const {
        if (code == SQLITE_OK || code == SQLITE_ROW || code == SQLITE_DONE) return;
        fail();
    }

    [[noreturn]] void refuse_to_wait_for_itself() const {
        throw error(
            errc::wrong_transaction,
            "SQLite database " + path_ +
                " is locked by a transaction of this very thread; end that first, or take part in "
                "it by a call such as try_acquire_in or enqueue_in"
        );
    }

    [[noreturn]] void fail() const {
        if (waits_for_itself_) refuse_to_wait_for_itself();
        throw sqlite::error_of(
            path_,
            {sqlite3_extended_errcode(handle_),
             sqlite3_system_errno(handle_),
             sqlite3_errmsg(handle_)}
        );
    }

    // SQLite reads no further than a zero byte: a DELETE would lose the WHERE behind it.
    static void refuse_zero_byte(std::string_view sql) {
        if (sql.find('\0') == std::string_view::npos) return;
        throw error{errc::invalid_argument, "a statement has a zero byte in its text"};
    }

    // SQLite prepares the first statement of a text, and leaves the others out without a word.
    void refuse_second(std::string_view rest) {
        while (rest.find_first_not_of(" \t\r\n;") != std::string_view::npos) {
            sqlite3_stmt* next = nullptr;
            const char* end = nullptr;
            const int size = static_cast<int>(rest.size());
            const int code = sqlite3_prepare_v2(handle_, rest.data(), size, &next, &end);
            const statement_handle owned{next};
            if (code != SQLITE_OK || next) refuse_second_statement();
            rest.remove_prefix(static_cast<std::size_t>(end - rest.data()));  // a comment
        }
    }

    // Prepared once per connection; the least recently used makes room.
    sqlite3_stmt* prepare_kept(std::string_view sql) {
        if (const auto found = by_text_.find(sql); found != by_text_.end()) {
            prepared_.splice(prepared_.begin(), prepared_, found->second);
            return prepared_.front().second.get();
        }
        refuse_zero_byte(sql);
        sqlite3_stmt* made = nullptr;
        const char* rest = nullptr;
        const int size = static_cast<int>(sql.size());
        check(sqlite3_prepare_v3(handle_, sql.data(), size, SQLITE_PREPARE_PERSISTENT, &made, &rest)
        );
        statement_handle owned{made};
        if (!made) throw error(errc::invalid_argument, "an empty statement cannot be executed");
        refuse_second(sql.substr(static_cast<std::size_t>(rest - sql.data())));
        if (prepared_.size() == max_prepared) {
            by_text_.erase(prepared_.back().first);
            prepared_.pop_back();
        }
        prepared_.emplace_front(std::string(sql), std::move(owned));
        by_text_.emplace(prepared_.front().first, prepared_.begin());
        return made;
    }

    // True for $1, $2 …, which SQLite takes for names.
    static bool is_numbered(const char* name) {
        return name && name[0] == '$' && name[1] >= '0' && name[1] <= '9';
    }
    static bool is_numbered(sqlite3_stmt* statement) {
        return is_numbered(sqlite3_bind_parameter_name(statement, 1));
    }

    // The number of the value that belongs to a parameter, from 1: for each ? the next after
    // `bound`.
    static std::size_t number_of(sqlite3_stmt* statement, int at, std::size_t bound) {
        const char* const name = sqlite3_bind_parameter_name(statement, at);
        if (!is_numbered(name) && !is_numbered(statement)) {
            return bound + static_cast<std::size_t>(at);
        }
        const auto found = places_in(name ? name : "", engine::sqlite);
        if (found.size() == 1 && is_numbered(statement)) return found[0].number;
        throw error(
            errc::invalid_argument, "a statement has both ? and $1 for its parameters; use $1 alone"
        );
    }

    // All parameters of a statement; answers with the highest number of a value among them.
    std::size_t bind(sqlite3_stmt* statement, const parameters& values, std::size_t bound) {
        std::size_t highest = bound;
        for (int at = 1; at <= sqlite3_bind_parameter_count(statement); ++at) {
            const std::size_t number = number_of(statement, at, bound);
            if (number > values.size()) wrong_count(values.size());
            check(sqlite::bind(statement, at, values[number - 1]));
            highest = std::max(highest, number);
        }
        return highest;
    }

    // Steps to the end and resets, also when it fails: an unfinished statement would keep its
    // locks.
    result run(sqlite3_stmt* statement) {
        const int changes_before = sqlite3_total_changes(handle_);
        result answer;
        int code = SQLITE_OK;
        column_names names;
        while ((code = sqlite3_step(statement)) == SQLITE_ROW) {
            if (!names) names = sqlite::names_of(statement);
            row found{.names = names};
            for (int at = 0; at < sqlite3_column_count(statement); ++at) {
                found.columns.push_back(sqlite::column_of(statement, at));
            }
            answer.rows.push_back(std::move(found));
        }
        if (code != SQLITE_DONE) {
            // Read before the reset, which clears the connection's error.
            try {
                fail();
            } catch (...) {
                sqlite3_reset(statement);
                sqlite3_clear_bindings(statement);
                throw;
            }
        }
        sqlite3_reset(statement);
        sqlite3_clear_bindings(statement);
        // sqlite3_total_changes() counts the changes of triggers, too; sqlite3_changes() keeps its
        // value until a statement changes something.
        const bool has_changed = sqlite3_total_changes(handle_) != changes_before;
        answer.affected_rows = has_changed ? sqlite3_changes(handle_) : 0;
        return answer;
    }

    sqlite3* const handle_;
    const bool is_owned_;
    bool is_lost_ = false;
    bool has_run_scripts_ = false;
    bool waits_for_itself_ = false;
    const std::string path_;
    sqlite::writer_place writing_;
    server_info server_;
    milliseconds limit_ = default_statement_timeout;
    local_clock::time_point deadline_{};
    using kept = std::list<std::pair<std::string, statement_handle>>;
    kept prepared_;
    std::map<std::string_view, kept::iterator, std::less<>> by_text_;
    std::optional<sqlite::file_watch> watch_;
    std::string channel_;
    std::int64_t heard_version_ = 0;
    std::optional<local_clock::time_point> written_at_;  // by somebody whose commit is not seen yet
};

std::unique_ptr<connection> connect(
    const std::string& path,
    milliseconds timeout,
    bool may_create,
    std::shared_ptr<sqlite::writer_queue> writers
) {
    sqlite::require_file(path, may_create);
    sqlite3* handle = nullptr;
    // FULLMUTEX costs little here and keeps a mistake of threading from corrupting memory.
    const int flags =
        SQLITE_OPEN_READWRITE | SQLITE_OPEN_FULLMUTEX | (may_create ? SQLITE_OPEN_CREATE : 0);
    const int code = sqlite3_open_v2(path.c_str(), &handle, flags, nullptr);
    auto made = std::make_unique<sqlite_connection>(handle, path, std::move(writers));
    if (code != SQLITE_OK) {
        throw sqlite::error_of(path, {code, sqlite3_system_errno(handle), sqlite3_errmsg(handle)});
    }
    made->set_statement_timeout(timeout);
    // WAL lets readers and the writer pass each other and is kept in the file; FULL makes a commit
    // survive a power cut, without which a fencing token could be given twice.
    if (may_create) made->switch_to_wal();
    made->execute("PRAGMA synchronous = FULL", {});
    return made;
}

}  // namespace

namespace sqlite {

database open(url_text url, database_settings settings) {
    const std::string path = sqlite::path_of(url);
    if (!settings.names.schema.empty()) {
        throw error(errc::invalid_argument, "SQLite has no schemas; set a table prefix instead");
    }
    const auto opener = [path, writers = std::make_shared<sqlite::writer_queue>()](bool may_create
                        ) -> connector {
        return [path, may_create, writers](milliseconds timeout) {
            return connect(path, timeout, may_create, writers);
        };
    };
    return database{opener(false), opener(true), std::move(settings)};
}

database open(url_source source, database_settings settings) {
    return open(source(), std::move(settings));
}

}  // namespace sqlite

borrowed_connection borrow(sqlite3* handle) {
    if (!handle) throw error(errc::invalid_argument, "borrow() got no SQLite handle");
    const char* const path = sqlite3_db_filename(handle, "main");
    return borrowed_connection{
        std::make_unique<sqlite_connection>(handle, path && *path ? path : "in memory", nullptr)};
}

}  // namespace leasehold
