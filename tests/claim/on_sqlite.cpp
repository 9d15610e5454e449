// SQLite: leasehold's own transactions, and a sqlite3* of the caller's.
#include <sqlite3.h>

#include <optional>
#include <stdexcept>

#include "claim/way.hpp"
#include "leasehold/driver/sqlite.hpp"
#include "leasehold/migrate.hpp"
#include "support/folder.hpp"
#include "support/patient.hpp"

namespace leasehold::testing {
namespace {

class native final : public lent {
public:
    native(const std::string& file, const std::vector<std::string>& words) {
        if (sqlite3_open(file.c_str(), &handle_) != SQLITE_OK) throw std::runtime_error("no file");
        for (const std::string& each : words) run_words(each);
        borrowed_.emplace(borrow(handle_));
    }
    ~native() override {
        borrowed_.reset();
        sqlite3_close(handle_);
    }
    transaction_ref ref() override { return *borrowed_; }
    void commit() override { run_words("COMMIT"); }
    void rollback() override { run_words("ROLLBACK"); }

private:
    void run_words(const std::string& words) {
        if (sqlite3_exec(handle_, words.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK) {
            throw std::runtime_error(words + ": " + sqlite3_errmsg(handle_));
        }
    }

    sqlite3* handle_ = nullptr;
    std::optional<borrowed_connection> borrowed_;
};

}  // namespace

std::vector<std::string> way_names() {
    return {"sqlite", "sqlite_handle"};
}

way open_way(const std::string& name) {
    static const folder place;  // for the whole run
    static const std::string file = place.path() + "/claim.db";
    const database db = sqlite::open("sqlite:" + file, patient());
    migrate(db);  // makes the file
    const auto open = [](database_settings settings) {
        return sqlite::open("sqlite:" + file, std::move(settings));
    };
    if (name == "sqlite") return {db, [db](begun how) { return begin_own(db, how); }, open};
    return {
        db,
        [](begun how) -> std::unique_ptr<lent> {
            auto words = words_to_begin(engine::sqlite, how);
            if (words.empty() && how != begun::not_at_all) return nullptr;
            return std::make_unique<native>(file, words);
        },
        open};
}

}  // namespace leasehold::testing
