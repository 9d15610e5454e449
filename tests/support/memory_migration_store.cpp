// The model's own schema: one migration, applied from the start, whose statements do nothing.
#include "admin/migration_store.hpp"

#include <algorithm>
#include <functional>
#include <utility>

#include "support/memory_rows.hpp"
#include "support/memory_store.hpp"

namespace leasehold::testing {
namespace {

class memory_migration_store final : public migration_store {
public:
    explicit memory_migration_store(std::shared_ptr<memory_server> of) : server_(std::move(of)) {}

    std::span<const migration> known() const override { return known_; }
    std::vector<installation> installations(connection&) const override { return {}; }
    bool migrates_in_transactions() const override { return false; }

    // Held by the transaction, and so given up when it ends.
    void lock(connection& on, std::chrono::milliseconds) override {
        using answer = std::optional<bool>;
        const auto attempt = [](memory_tables& tables, const connection& from) -> answer {
            if (tables.migrator && tables.migrator != &from) return std::nullopt;
            tables.migrator = &from;
            return true;
        };
        on.begin();
        try {
            server_->ask<bool>(on, "lock_migrations", attempt);
        } catch (...) {
            on.rollback();
            throw;
        }
    }
    void unlock(connection& on, bool) override { on.rollback(); }

    std::optional<std::vector<migration_record>> recorded(connection& on) override {
        using records = std::optional<std::vector<migration_record>>;
        return server_->ask<records>(on, "recorded", [](memory_tables& tables, const connection&) {
            return std::optional<records>{tables.migrations};
        });
    }

    std::string place(connection& on) override { return on.execute("place").rows.at(0).text(0); }

    void apply(connection& on, std::string_view) override {
        change(on, "apply", [](std::vector<migration_record>&) {});
    }
    void record(connection& on, const migration_record& what) override {
        change(on, "record", [what](std::vector<migration_record>& records) {
            forget_in(records, what.version);
            records.push_back(what);
            std::sort(records.begin(), records.end(), [](const auto& left, const auto& right) {
                return left.version < right.version;
            });
        });
    }
    void forget(connection& on, int version) override {
        change(on, "forget", [version](std::vector<migration_record>& records) {
            forget_in(records, version);
        });
    }
    void drop_records(connection& on) override {
        server_->ask<bool>(on, "drop_records", [](memory_tables& tables, const connection&) {
            tables.migrations.reset();
            ++tables.writes;
            return std::optional{true};
        });
    }

    migration_texts texts(int) const override { return {"up;\n", "down;\n"}; }
    std::string script(int, int) const override { return ""; }
    std::string grants(std::string_view) const override { return ""; }

private:
    static void forget_in(std::vector<migration_record>& records, int version) {
        std::erase_if(records, [&](const auto& each) { return each.version == version; });
    }

    void change(
        connection& on, const char* name, std::function<void(std::vector<migration_record>&)> how
    ) {
        server_->ask<bool>(on, name, [how](memory_tables& tables, const connection&) {
            if (!tables.migrations) tables.migrations.emplace();
            how(*tables.migrations);
            ++tables.writes;
            return std::optional{true};
        });
    }

    const std::vector<migration> known_{{1, "model", "0"}};
    const std::shared_ptr<memory_server> server_;
};

}  // namespace

std::unique_ptr<migration_store> make_memory_migration_store(std::shared_ptr<memory_server> of) {
    return std::make_unique<memory_migration_store>(std::move(of));
}

}  // namespace leasehold::testing
