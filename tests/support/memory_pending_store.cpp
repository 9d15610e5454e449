// The model's grants that stand or fall with a transaction. It has no levels of isolation: what a
// request reads is what there is.
#include <utility>

#include "store/pending_store.hpp"
#include "support/memory_rows.hpp"
#include "support/memory_store.hpp"

namespace leasehold::testing {
namespace {

class memory_pending_store final : public pending_store {
public:
    explicit memory_pending_store(std::shared_ptr<memory_server> of) : server_(std::move(of)) {}

    pending_entry enter(connection&) override { return pending_entry::beside; }

    bool move(connection& inside, const hold& held, const owner_id& to) override {
        const auto attempt = [held, to](memory_tables& tables, const connection& from) {
            lock_row* const row = find_hold(tables, held);
            if (!row || is_proved_by_another(*row, from)) return std::optional{false};
            row->provers.insert(&from);
            row->moving = {&from, to};
            return std::optional{true};
        };
        return server_->ask<bool>(inside, "move", attempt);
    }

private:
    const std::shared_ptr<memory_server> server_;
};

}  // namespace

std::unique_ptr<pending_store> make_memory_pending_store(std::shared_ptr<memory_server> of) {
    return std::make_unique<memory_pending_store>(std::move(of));
}

}  // namespace leasehold::testing
