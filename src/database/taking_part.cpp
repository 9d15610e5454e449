#include "database/taking_part.hpp"

#include <string>

#include "leasehold/error.hpp"

namespace leasehold {

void require_transaction(connection& inside, std::string_view what) {
    const std::string name{what};
    switch (inside.state()) {
        case connection_state::in_transaction:
            return;
        case connection_state::idle:
            throw error(
                errc::wrong_transaction,
                name + " needs a transaction that is open: begin one before, and commit it after"
            );
        case connection_state::failed:
            throw error(
                errc::wrong_transaction,
                name + " got a transaction that has failed: roll it back and begin another one"
            );
        case connection_state::lost:
            break;
    }
    throw error(errc::connection_lost, name + " got a connection that is lost: connect again");
}

void require_engine(const connection& inside, engine ours, std::string_view what) {
    const engine theirs = inside.server().engine;
    if (theirs == ours) return;
    throw error(
        errc::wrong_transaction,
        std::string(what) + " got a transaction of " + std::string(name_of(theirs)) +
            " for a session on " + std::string(name_of(ours)) + "; use the same database"
    );
}

}  // namespace leasehold
