#include <array>

#include "driver/postgres_connection.hpp"
#include "driver/postgres_errors.hpp"
#include "driver/postgres_server.hpp"
#include "driver/postgres_settings.hpp"
#include "driver/postgres_values.hpp"

namespace leasehold::postgres {

void owned_connection::set_up(local_clock::time_point until) {
    auto asked = set_up_question::all;
    for (;;) {
        const std::string sql = set_up_text(asked);
        const parameters values{
            PQbackendPID(handle_.get()), server_bound(server_limit_), checks_client_ ? 1 : 0};
        const bound_parameters bound{values};
        const std::array batch{message{message_kind::query, "", sql.c_str(), &bound}};
        const reply answer = exchange(handle_.get(), batch, until);
        const PGresult* failure = answer.failure();
        const bool is_refused = answer.end == exchange_end::answered && failure != nullptr;
        // A role's statement_timeout may leave no time for this: the next try is faster, because
        // the server has read its catalogue by then.
        if (is_refused && sqlstate_of(failure) == "57014" && local_clock::now() < until) continue;
        if (is_refused && asked != set_up_question::settings_alone) {
            asked = set_up_question{static_cast<int>(asked) + 1};
            continue;
        }
        // A server whose platform cannot watch its clients refuses the setting.
        if (is_refused && checks_client_) {
            checks_client_ = false;
            continue;
        }
        if (answer.end == exchange_end::gave_up) throw connect_timeout_error(handle_.get());
        if (!answer.has_succeeded()) throw set_up_error(address_, failure);
        const row set = rows_of(answer.results.at(0).at(0).get()).at(0);
        is_pooled_ = set.integer("is_shared") == 1;
        server_.is_pooled = is_pooled_;
        checks_client_ = set.integer("checks_client") == 1;
        note_place(set, asked);
        if (!is_pooled_) known_->waits.end_on(handle_.get(), origin_, until);
        return;
    }
}

// A standby has no WAL of its own to name.
void owned_connection::note_place(const row& set, set_up_question asked) {
    constexpr int hexadecimal = 16;
    if (asked == set_up_question::settings_alone) return;
    was_standby_ = set.integer("is_standby") == 1;
    origin_ = {set.text("origin"), asked};
    if (asked != set_up_question::all) return;
    if (set.is_null("system") || set.is_null("timeline")) return;
    place_ = {set.text("system"), std::stoll(set.text("timeline"), nullptr, hexadecimal)};
    if (!is_pooled_) server_.place = place_.system + '/' + std::to_string(place_.timeline);
    is_past_ = !known_->data.note(place_);
}

// A server reports it with each change since 14. Behind a pooler the report may be of another
// server; there, and if the server is older, this asks for it, unless a transaction has failed.
bool owned_connection::is_standby() {
    const std::string_view said = reported(handle_.get(), "in_hot_standby");
    if (!said.empty() && !is_pooled_) return said == "on";
    if (PQtransactionStatus(handle_.get()) != PQTRANS_IDLE) return was_standby_;
    const std::array batch{
        message{message_kind::query, "", "SELECT pg_is_in_recovery() AS is_standby"}};
    const reply answer = exchange(handle_.get(), batch, local_clock::now() + limit_);
    if (!answer.has_succeeded()) return was_standby_;
    return rows_of(answer.results.at(0).at(0).get()).at(0).integer("is_standby") == 1;
}

bool owned_connection::is_refused_by_standby(const PGresult* failure) {
    if (sqlstate_of(failure) != "25006" || !is_standby()) return false;
    was_standby_ = true;
    known_->refusals.note(refusals_seen_);
    return true;
}

// Other connections that were made before the refusal lead to the same server, or the same pooler.
bool owned_connection::is_of_demoted() const noexcept {
    if (known_->refusals.count() == refusals_seen_) return false;
    return is_pooled_ || reported(handle_.get(), "in_hot_standby") == "on" || was_standby_;
}

bool owned_connection::is_of_the_past() const noexcept {
    if (!is_past_ && known_->data.changes() != changes_seen_) {
        changes_seen_ = known_->data.changes();
        is_past_ = !place_.system.empty() && known_->data.is_past(place_);
    }
    return is_past_;
}

error owned_connection::unwanted_standby() const {
    return standby_error(address_);
}

error owned_connection::former_primary() const {
    return former_primary_error(address_, place_.timeline, known_->data.newest(place_));
}

}  // namespace leasehold::postgres
