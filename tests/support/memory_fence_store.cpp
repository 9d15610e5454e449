// The model's highest tokens of resources.
#include <algorithm>

#include "locks/fence_store.hpp"
#include "support/memory_rows.hpp"
#include "support/memory_store.hpp"

namespace leasehold::testing {
namespace {

class memory_fence_store final : public fence_store {
public:
    explicit memory_fence_store(std::shared_ptr<memory_server> of) : server_(std::move(of)) {}

    // Written in a transaction, seen when it commits.
    bool admit(connection& inside, const key& resource, fencing_token token) override {
        using answer = std::optional<bool>;
        const auto attempt = [resource,
                              token](memory_tables& tables, const connection& from) -> answer {
            fence_row& row = tables.fences[resource.name()];
            if (row.writer && row.writer != &from) return std::nullopt;
            const auto now = row.writer ? row.written : row.fence;
            row.writer = &from;
            row.written = std::max(now, token.number);
            return row.written == token.number;
        };
        return server_->ask<bool>(inside, "admit", attempt);
    }

    std::optional<fencing_token> highest(connection& on, const key& resource) override {
        using found = std::optional<fencing_token>;
        const auto attempt = [resource](memory_tables& tables, const connection&) {
            const auto row = tables.fences.find(resource.name());
            const bool is_there = row != tables.fences.end() && row->second.fence > 0;
            return std::optional{is_there ? found{{row->second.fence}} : found{}};
        };
        return server_->ask<found>(on, "highest", attempt);
    }

private:
    const std::shared_ptr<memory_server> server_;
};

}  // namespace

std::unique_ptr<fence_store> make_memory_fence_store(std::shared_ptr<memory_server> of) {
    return std::make_unique<memory_fence_store>(std::move(of));
}

}  // namespace leasehold::testing
