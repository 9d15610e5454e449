// SQLite: statements as SQLite itself traces them, on every connection of this process; write
// transactions as the log has them, where the last page of each says that it is the last.
#include <sqlite3.h>

#include <atomic>
#include <fstream>
#include <map>
#include <mutex>
#include <string_view>

#include "budget/meter.hpp"
#include "database/database.hpp"
#include "leasehold/driver/sqlite.hpp"
#include "leasehold/migrate.hpp"
#include "leasehold/mutex.hpp"
#include "support/folder.hpp"
#include "support/patient.hpp"

namespace leasehold::testing {
namespace {

// The counters of the whole process, since SQLite calls its hook for all new connections.
struct traced {
    std::atomic<std::int64_t> statements = 0;
    std::atomic<std::int64_t> rows = 0;
    std::mutex mutex;
    std::map<sqlite3*, std::int64_t> changes;  // as of its last statement
};
traced counted;

// SQLite traces a statement inside of a statement behind a "--": a heartbeat reads a PRAGMA so.
bool is_transaction_control(std::string_view sql) {
    for (const std::string_view word : {"BEGIN", "COMMIT", "ROLLBACK", "PRAGMA", "-- PRAGMA"}) {
        if (sql.starts_with(word)) return true;
    }
    return false;
}

int on_event(unsigned kind, void*, void* subject, void* text) {
    if (kind == SQLITE_TRACE_STMT) {
        if (!is_transaction_control(static_cast<const char*>(text))) ++counted.statements;
        return 0;
    }
    const std::lock_guard guard{counted.mutex};
    if (kind == SQLITE_TRACE_CLOSE) {
        counted.changes.erase(static_cast<sqlite3*>(subject));
        return 0;
    }
    sqlite3* const handle = sqlite3_db_handle(static_cast<sqlite3_stmt*>(subject));
    std::int64_t& before = counted.changes[handle];
    const std::int64_t now = sqlite3_total_changes(handle);
    counted.rows += now - before;
    before = now;
    return 0;
}

int on_open(sqlite3* handle, char**, const sqlite3_api_routines*) {
    constexpr unsigned kinds = SQLITE_TRACE_STMT | SQLITE_TRACE_PROFILE | SQLITE_TRACE_CLOSE;
    return sqlite3_trace_v2(handle, kinds, &on_event, nullptr);
}

std::uint32_t big_endian(const std::string& bytes, std::size_t at) {
    std::uint32_t number = 0;
    for (std::size_t each = 0; each < 4; ++each) {
        number = number << 8 | static_cast<unsigned char>(bytes.at(at + each));
    }
    return number;
}

}  // namespace

// Two looks before the write lock is asked for, so that a refusal needs none, and the same two once
// it has it.
budget allowed() {
    return {
        .grant = {0, 5, 1},
        .new_grant = {0, 6, 1},
        .usual_new_grant = {0, 6, 1},
        .refusal = {0, 2, 0},
        .release = {0, 1, 1},
        .heartbeat = {0, 1, 1},
        .proof = {0, 1, 0},
        .life = {0, 6, 4},
        .nothing = {0, 1, 0},
    };
}

class meter::state {
public:
    state() {
        sqlite3_auto_extension(hook());
        keep_open_.emplace(open());
        migrate(*keep_open_);
        salt_ = read_log().salt;
    }
    ~state() {
        keep_open_.reset();
        sqlite3_cancel_auto_extension(hook());
    }
    state(const state&) = delete;
    state& operator=(const state&) = delete;

    database open() const {
        return sqlite::open("sqlite:" + folder_.path() + "/leasehold.db", patient());
    }

    std::int64_t transactions() const {
        const log found = read_log();
        if (found.salt != salt_) throw std::runtime_error("the log began anew: count less at once");
        return found.transactions;
    }

private:
    struct log {
        std::string salt;  // of this generation of the log
        std::int64_t transactions = 0;
    };

    static void (*hook())() { return reinterpret_cast<void (*)()>(&on_open); }

    // https://sqlite.org/fileformat2.html#the_write_ahead_log
    log read_log() const {
        constexpr std::size_t header_size = 32, frame_header_size = 24;
        std::ifstream file{folder_.path() + "/leasehold.db-wal", std::ios::binary};
        const std::string bytes{std::istreambuf_iterator<char>(file), {}};
        if (bytes.size() < header_size) throw std::runtime_error("there is no log to count in");
        log found{bytes.substr(16, 8), 0};
        const std::size_t frame_size = frame_header_size + big_endian(bytes, 8);
        for (auto at = header_size; at + frame_size <= bytes.size(); at += frame_size) {
            if (bytes.compare(at + 8, 8, found.salt) != 0) break;  // of an earlier generation
            if (big_endian(bytes, at + 4) != 0) ++found.transactions;
        }
        return found;
    }

    const folder folder_;
    std::string salt_;
    std::optional<database> keep_open_;  // the last one to close would remove the log
};

meter::meter() : state_(std::make_unique<state>()) {}
meter::~meter() = default;

database meter::open() const {
    return state_->open();
}

cost meter::spent() const {
    return {0, counted.statements, counted.rows};
}

std::int64_t meter::writes() const {
    return state_->transactions();
}

std::optional<std::int64_t> meter::writes_per_transaction() {
    return 1;
}

bool meter::is_alone() {
    return true;
}

std::optional<std::int64_t> meter::logged() const {
    return std::nullopt;
}

void meter::settle() const {}

bool meter::counts_flushes() {
    return false;
}

std::int64_t meter::flushes(const database&) const {
    return 0;
}

}  // namespace leasehold::testing
