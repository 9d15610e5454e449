#include "support/gate.hpp"

#include "database/database.hpp"

namespace leasehold::testing {

connector gated_connector(const database& behind, std::shared_ptr<gate> through) {
    return [behind, through](std::chrono::milliseconds timeout) -> std::unique_ptr<connection> {
        through->pass();
        return std::make_unique<gated_connection>(
            behind.inner()->connections().connect_apart(timeout), through
        );
    };
}

}  // namespace leasehold::testing
