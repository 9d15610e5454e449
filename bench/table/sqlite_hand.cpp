#include <sqlite3.h>

#include <stdexcept>
#include <unordered_map>

#include "bench/table/hands.hpp"

namespace leasehold::bench {
namespace {

struct closes {
    void operator()(sqlite3* handle) const noexcept { sqlite3_close_v2(handle); }
    void operator()(sqlite3_stmt* statement) const noexcept { sqlite3_finalize(statement); }
};

// Opens a file like leasehold: WAL, and a flush at every commit.
class sqlite_hand final : public hand {
public:
    explicit sqlite_hand(const place& where) {
        sqlite3* opened = nullptr;
        const std::string path = where.url.substr(where.url.find(':') + 1);
        const int status = sqlite3_open_v2(path.c_str(), &opened, SQLITE_OPEN_READWRITE, nullptr);
        handle_.reset(opened);
        if (status != SQLITE_OK) fail();
        sqlite3_busy_timeout(opened, 30'000);
        run("PRAGMA synchronous = FULL");
    }

    engine which() const override { return engine::sqlite; }
    answer execute(const std::string& text, const parameters& values) override {
        sqlite3_stmt* const statement = prepared(text);
        int place = 0;
        for (const value& each : values) bind(statement, ++place, each);
        answer made;
        int status = sqlite3_step(statement);
        for (; status == SQLITE_ROW; status = sqlite3_step(statement)) {
            ++made.rows;
            made.ids.push_back(sqlite3_column_int64(statement, 0));
        }
        sqlite3_reset(statement);
        if (status != SQLITE_DONE) fail();
        if (sqlite3_column_count(statement) == 0) made.rows = sqlite3_changes(handle_.get());
        return made;
    }
    void begin() override { execute(begin_, {}); }
    void commit() override { execute(commit_, {}); }

private:
    [[noreturn]] void fail() { throw std::runtime_error(sqlite3_errmsg(handle_.get())); }
    void run(const char* text) {
        if (sqlite3_exec(handle_.get(), text, nullptr, nullptr, nullptr) != SQLITE_OK) fail();
    }
    sqlite3_stmt* prepared(const std::string& text) {
        auto& known = statements_[text];
        if (known) return known.get();
        sqlite3_stmt* made = nullptr;
        const int status = sqlite3_prepare_v3(
            handle_.get(), text.c_str(), -1, SQLITE_PREPARE_PERSISTENT, &made, nullptr
        );
        if (status != SQLITE_OK) fail();
        known.reset(made);
        return made;
    }
    static void bind(sqlite3_stmt* statement, int place, const value& each) {
        if (const auto* const number = std::get_if<std::int64_t>(&each.held())) {
            sqlite3_bind_int64(statement, place, *number);
        } else if (const auto* const bytes = std::get_if<blob>(&each.held())) {
            const auto size = static_cast<int>(bytes->bytes.size());
            sqlite3_bind_blob(statement, place, bytes->bytes.data(), size, SQLITE_STATIC);
        } else {
            const auto size = static_cast<int>(each.text().size());
            sqlite3_bind_text(statement, place, each.text().data(), size, SQLITE_STATIC);
        }
    }

    const std::string begin_ = "BEGIN IMMEDIATE";
    const std::string commit_ = "COMMIT";
    std::unique_ptr<sqlite3, closes> handle_;
    std::unordered_map<std::string, std::unique_ptr<sqlite3_stmt, closes>> statements_;
};

}  // namespace

std::unique_ptr<hand> make_sqlite_hand(const place& where) {
    return std::make_unique<sqlite_hand>(where);
}

}  // namespace leasehold::bench
