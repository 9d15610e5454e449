#include "database/taking_part.hpp"

#include <filesystem>
#include <string>
#include <system_error>

#include "core/model_engine.hpp"
#include "database/schema_store.hpp"
#include "leasehold/error.hpp"

namespace leasehold {
namespace {

// A file has several names by links, and by "..", which SQLite before 3.39 does not resolve.
bool is_same_file(database::implementation& own, const std::string& theirs) {
    std::error_code unknown;
    return own.which() == engine::sqlite &&
           std::filesystem::equivalent(own.place(), theirs, unknown);
}

// As require_database(), but asks in every case.
void require_same_place(connection& inside, database::implementation& own, std::string_view what) {
    // The nodes of a cluster are one database, and have different places.
    if (own.open_transactions().has_begun(inside) || own.has_several_writers()) return;
    const std::string theirs = own.store_for(inside).get<schema_store>().place(inside);
    if (own.place() == theirs || is_same_file(own, theirs) || own.place_now() == theirs) return;
    throw error(
        errc::wrong_transaction,
        std::string(what) + " got a transaction of another database (" + theirs +
            ") than its own (" + own.place() +
            "): begin it on the same database; nothing was changed"
    );
}

}  // namespace

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

void require_database(connection& inside, database::implementation& own, std::string_view what) {
    const engine ours = own.which();
    const engine theirs = inside.server().engine;
    if (theirs != ours) {
        throw error(
            errc::wrong_transaction,
            std::string(what) + " got a transaction of " + std::string(name_of(theirs)) +
                " for a session on " + std::string(name_of(ours)) + "; use the same database"
        );
    }
    const bool is_at_server = theirs != engine::sqlite && theirs != model_engine;
    if (is_at_server && !inside.is_callers()) return;
    require_same_place(inside, own, what);
}

void refuse_other_database(
    connection& inside, database::implementation& own, std::string_view what
) {
    try {
        require_same_place(inside, own, what);
    } catch (const error& failure) {
        if (failure.code() == errc::wrong_transaction) throw;
    }
}

}  // namespace leasehold
