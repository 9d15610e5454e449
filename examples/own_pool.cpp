// A service that has a pool of its own, here of sqlite3*: leasehold takes its connections from it
// by a `connector`, and the same pool serves the rest. With libpq or Connector/C++ it looks alike.
//
// leasehold keeps the connections it has taken until its handle goes, or the connection breaks: at
// most max_connections, one more for each session, and one while calls wait. So give the pool as
// many more as the rest of the program needs.
//
//   own_pool PATH
#include <sqlite3.h>

#include <condition_variable>
#include <iostream>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <vector>

#include "leasehold/driver/sqlite.hpp"
#include "leasehold/leasehold.hpp"

namespace {

using namespace std::chrono_literals;

// Such a service already has a pool: so many handles, lent and taken back.
class handle_pool {
public:
    handle_pool(std::string path, int size) : path_(std::move(path)), size_(size) {}
    ~handle_pool() {
        for (sqlite3* each : idle_) sqlite3_close(each);
    }
    handle_pool(const handle_pool&) = delete;
    handle_pool& operator=(const handle_pool&) = delete;

    // Null when none was free in time.
    sqlite3* take(std::chrono::milliseconds timeout) {
        std::unique_lock guard{mutex_};
        const auto is_free = [&] { return !idle_.empty() || opened_ < size_; };
        if (!given_back_.wait_for(guard, timeout, is_free)) return nullptr;
        if (idle_.empty()) return open();
        sqlite3* const taken = idle_.back();
        idle_.pop_back();
        return taken;
    }
    void give_back(sqlite3* handle) {
        {
            const std::lock_guard guard{mutex_};
            idle_.push_back(handle);
        }
        given_back_.notify_one();
    }
    int lent() const {
        const std::lock_guard guard{mutex_};
        return opened_ - static_cast<int>(idle_.size());
    }

private:
    sqlite3* open() {
        sqlite3* opened = nullptr;
        // The settings of leasehold's own driver: readers beside a writer, and commits that last.
        const char* const settings = "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL";
        if (sqlite3_open(path_.c_str(), &opened) != SQLITE_OK ||
            sqlite3_busy_timeout(opened, 3000) != SQLITE_OK ||
            sqlite3_exec(opened, settings, nullptr, nullptr, nullptr) != SQLITE_OK) {
            const std::string why = sqlite3_errmsg(opened);
            sqlite3_close(opened);
            throw std::runtime_error(why);
        }
        ++opened_;
        return opened;
    }

    const std::string path_;
    const int size_;
    mutable std::mutex mutex_;
    std::condition_variable given_back_;
    std::vector<sqlite3*> idle_;
    int opened_ = 0;
};

// One of the pool's while leasehold has it. The driver's adapter sends the statements and says what
// errors mean; the owner of the handle, which is this class, begins and ends transactions.
class pooled_connection final : public leasehold::connection {
public:
    pooled_connection(handle_pool& from, sqlite3* handle)
        : from_(from), handle_(handle), adapter_(leasehold::borrow(handle)) {}
    ~pooled_connection() override {
        rollback();
        from_.give_back(handle_);
    }

    const leasehold::server_info& server() const noexcept override { return inside().server(); }
    leasehold::connection_state state() noexcept override { return inside().state(); }
    leasehold::result execute(std::string_view sql, const leasehold::parameters& values) override {
        return inside().execute(sql, values);
    }
    leasehold::result execute_script(std::string_view sql, const leasehold::parameters& values)
        override {
        return inside().execute_script(sql, values);
    }
    void begin() override { inside().execute("BEGIN IMMEDIATE"); }
    void commit() override { inside().execute("COMMIT"); }
    void rollback() noexcept override {
        if (sqlite3_get_autocommit(handle_) != 0) return;
        sqlite3_exec(handle_, "ROLLBACK", nullptr, nullptr, nullptr);
    }
    void set_statement_timeout(std::chrono::milliseconds limit) override {
        sqlite3_busy_timeout(handle_, static_cast<int>(limit.count()));
    }

private:
    leasehold::connection& inside() const noexcept { return adapter_.inside(); }

    handle_pool& from_;
    sqlite3* handle_;
    leasehold::borrowed_connection adapter_;
};

leasehold::connector connector_of(handle_pool& pool) {
    return [&pool](std::chrono::milliseconds timeout) {
        sqlite3* const handle = pool.take(timeout);
        if (!handle) {
            throw leasehold::error(
                leasehold::errc::connection_failed, "all handles of the service's pool are in use"
            );
        }
        return std::make_unique<pooled_connection>(pool, handle);
    };
}

void run(sqlite3* handle, const char* sql) {
    if (sqlite3_exec(handle, sql, nullptr, nullptr, nullptr) == SQLITE_OK) return;
    throw std::runtime_error(sqlite3_errmsg(handle));
}

// The service's own work, on a handle of the same pool: stands only if the lease was held.
void ship(handle_pool& pool, leasehold::lease& lease) {
    sqlite3* const own = pool.take(3s);
    if (!own) throw std::runtime_error("no handle is free");
    try {
        run(own, "CREATE TABLE IF NOT EXISTS shipment (parcel INTEGER)");
        run(own, "BEGIN IMMEDIATE");
        run(own, "INSERT INTO shipment VALUES (7)");
        lease.verify_in(leasehold::borrow(own));  // throws lease_lost: rolled back below
        run(own, "COMMIT");
    } catch (...) {
        if (sqlite3_get_autocommit(own) == 0) run(own, "ROLLBACK");
        pool.give_back(own);
        throw;
    }
    pool.give_back(own);
}

}  // namespace

int main(int count, char** arguments) {
    if (count != 2) {
        std::cerr << "usage: own_pool PATH\n";
        return 64;
    }
    try {
        handle_pool pool{arguments[1], 5};  // for leasehold at most 4, for the rest 1
        {
            const leasehold::database db{connector_of(pool), {.max_connections = 2}};
            leasehold::migrate(db);
            leasehold::session session{db, {.name = "shipping"}};
            leasehold::mutex depot{session, "depot/north"};
            auto lease = depot.acquire_for(10s);
            if (!lease) {
                std::cerr << "busy\n";
                return 75;
            }
            ship(pool, *lease);
            std::cout << "parcel 7 is shipped; leasehold has " << pool.lent() << " of 5 handles\n";
        }
        std::cout << pool.lent() << " handles are left with it\n";
    } catch (const std::exception& failure) {
        std::cerr << "own_pool: " << failure.what() << '\n';
        return 1;
    }
}
