// Threads that travel together would find a statement that grants two of them one key.
#include <gtest/gtest.h>

#include "core/handle_maker.hpp"
#include "database/database.hpp"
#include "support/many_threads.hpp"
#include "support/memory_store.hpp"
#include "support/passing_hold_store.hpp"

namespace leasehold::testing {
namespace {

class granting_one_key_twice final : public passing_hold_store {
public:
    using passing_hold_store::passing_hold_store;
    std::vector<std::optional<fencing_token>> try_acquire_several(
        connection& on, const std::vector<const acquire_request*>& wanted
    ) override {
        auto tokens = passing_hold_store::try_acquire_several(on, wanted);
        for (std::size_t at = 0; at < wanted.size(); ++at) {
            for (std::size_t before = 0; before < at && !tokens[at]; ++before) {
                if (wanted[at]->key == wanted[before]->key) tokens[at] = tokens[before];
            }
        }
        return tokens;
    }
};

std::string found_with(const std::function<void(store_set&)>& change) {
    const auto model = std::make_shared<memory_database>();
    auto stores = model->stores();
    change(*stores);
    database_settings settings;
    settings.max_connections = 2;
    settings.pool_timeout = std::chrono::minutes{10};
    const database over = handle_maker::share<database>(
        [model](std::chrono::milliseconds) { return model->connect(); }, std::move(stores), settings
    );
    const many_threads done{over, 2, 16, 200};
    EXPECT_GT(done.grants(), 100);
    return done.broken();
}

TEST(combined_fault, a_statement_that_grants_two_threads_one_key_is_found) {
    EXPECT_EQ(found_with([](store_set&) {}), "");
    EXPECT_NE(
        found_with([](store_set& in) {
            in.put<hold_store>(std::make_shared<granting_one_key_twice>(in.put<hold_store>(nullptr))
            );
        }),
        ""
    );
}

}  // namespace
}  // namespace leasehold::testing
