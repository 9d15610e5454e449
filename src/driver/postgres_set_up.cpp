#include <array>

#include "driver/postgres_connection.hpp"
#include "driver/postgres_errors.hpp"
#include "driver/postgres_server.hpp"
#include "driver/postgres_settings.hpp"
#include "driver/postgres_values.hpp"

namespace leasehold::postgres {

void owned_connection::set_up(local_clock::time_point until) {
    // Never destroyed: an object of static duration may connect when these would be gone.
    static const auto& plain = *new const std::string{set_up_text(false)};
    static const auto& with_place = *new const std::string{set_up_text(true)};
    for (;;) {
        const std::string& sql = tells_place_ ? with_place : plain;
        const parameters values{
            PQbackendPID(handle_.get()), server_bound(server_limit_), checks_client_ ? 1 : 0};
        const bound_parameters bound{values};
        const std::array batch{message{message_kind::query, "", sql.c_str(), &bound}};
        const reply answer = exchange(handle_.get(), batch, until);
        const PGresult* failure = answer.failure();
        // A role's statement_timeout that leaves no time for this: the next try is faster, because
        // the server has read its catalogue by then.
        if (answer.end == exchange_end::answered && failure != nullptr &&
            sqlstate_of(failure) == "57014" && local_clock::now() < until) {
            continue;
        }
        if (answer.end == exchange_end::answered && failure != nullptr && tells_place_) {
            tells_place_ = false;
            continue;
        }
        // Where the server's platform cannot watch its clients, it refuses to be asked to.
        if (answer.end == exchange_end::answered && failure != nullptr && checks_client_) {
            checks_client_ = false;
            continue;
        }
        if (answer.end == exchange_end::gave_up) throw connect_patience_error(handle_.get());
        if (answer.end != exchange_end::answered || failure != nullptr) {
            throw set_up_error(address_, failure);
        }
        const row set = rows_of(answer.results.at(0).at(0).get()).at(0);
        is_pooled_ = set.integer(0) == 1;
        server_.is_pooled = is_pooled_;
        checks_client_ = set.integer(4) == 1;
        if (tells_place_) note_place(set);
        if (!is_pooled_) known_->waits.end_on(handle_.get(), address_, until);
        return;
    }
}

// A standby has no WAL of its own to name.
void owned_connection::note_place(const row& set) {
    constexpr std::size_t system = 5, timeline = 6;
    constexpr int hexadecimal = 16;
    if (set.is_null(system) || set.is_null(timeline)) return;
    place_ = {set.text(system), std::stoll(set.text(timeline), nullptr, hexadecimal)};
    is_past_ = !known_->data.note(place_);
}

bool owned_connection::is_of_the_past() const noexcept {
    if (!is_past_ && known_->data.changes() != changes_seen_) {
        changes_seen_ = known_->data.changes();
        is_past_ = !place_.system.empty() && known_->data.is_past(place_);
    }
    return is_past_;
}

error owned_connection::former_primary() const {
    return former_primary_error(address_, place_.timeline, known_->data.newest(place_));
}

}  // namespace leasehold::postgres
