#include "conformance/history.hpp"

#include <algorithm>

#include "database/database.hpp"
#include "leasehold/error.hpp"

namespace leasehold::testing {

using std::chrono::microseconds;

// --------------------------------------------------------------------------------------- names

std::string history_names::prefix() const {
    std::string text = "history " + std::to_string(history);
    if (attempt > 0) text += "." + std::to_string(attempt);
    return text + "/";
}

leasehold::key history_names::key(int number) const {
    return prefix() + static_cast<char>('a' + number);
}

// Ids come from the seed, so that rows ordered by identity are ordered alike in every run.
identity history_names::id_of(unsigned kind, int number) const {
    std::seed_seq from{
        static_cast<unsigned long>(seed),
        static_cast<unsigned long>(history),
        static_cast<unsigned long>(attempt),
        static_cast<unsigned long>(kind),
        static_cast<unsigned long>(number)};
    std::mt19937_64 random{from};
    std::string bytes;
    while (bytes.size() < identity::size_bytes) bytes += static_cast<char>(random() & 0xff);
    return identity::from_bytes(bytes);
}

std::string text_of(const history_step& what) {
    const history_operation& operation = operations().at(what.operation);
    std::string text = operation.name;
    const auto add = [&](const std::string& words) { text += ", " + words; };
    const auto number = [](std::int64_t each) { return std::to_string(each); };
    if (operation.shape == step_shape::everything) {
        if (what.hours > 0) add(number(what.hours) + " h");
        return text;
    }
    if (operation.shape == step_shape::session_alone) {
        add("session " + number(what.session));
        if (what.hours > 0) add(number(what.hours) + " h");
        if (what.removes_row) add("its row goes");
        return text;
    }
    add("key " + number(what.key));
    if (operation.shape != step_shape::key_alone) {
        add("owner " + number(what.owner) + " of session " + number(what.session));
    }
    if (operation.shape == step_shape::mutex_try) {
        if (what.hours > 0) add("lock_delay " + number(what.hours) + " h");
        if (what.term_hours > 0) add("term " + number(what.term_hours) + " h");
    } else if (operation.shape == step_shape::holder_try) {
        add(std::string(name_of(what.kind)) + ", " + name_of(what.mode));
        add(number(what.permits) + " of " + number(what.capacity));
        if (what.gives_way_to != 0) add("gives way to " + number(what.gives_way_to));
        if (what.is_instead) add("instead of what it has");
        if (what.keeps_capacity) add("keeps the capacity");
    } else if (what.token_skew != 0) {
        add("its token and " + number(what.token_skew));
    } else if (what.hours > 0) {
        add(number(what.hours) + " h");
    } else if (operation.shape == step_shape::key_alone && what.capacity > 1) {
        add("to " + number(what.capacity));
    }
    return text;
}

std::size_t operation_named(std::string_view name) {
    const auto& all = operations();
    const auto found =
        std::find_if(all.begin(), all.end(), [&](const auto& each) { return each.name == name; });
    if (found == all.end()) throw std::out_of_range("no operation " + std::string(name));
    return static_cast<std::size_t>(found - all.begin());
}

// ---------------------------------------------------------------------------------------- side

std::string history_side::carry_out(const history_step& what) {
    events_.clear();
    owners_[names_.owner(what.owner)] = what.owner;
    people_[names_.owner(what.owner)] = "owner " + std::to_string(what.owner);
    for (int each = 0; each < history_names::sessions; ++each) {
        people_[names_.session(each)] = "session " + std::to_string(each);
    }
    try {
        return at_.db.inner()->use([&](connection& on, store_set& stores) {
            return operations().at(what.operation).run(*this, on, stores, what);
        });
    } catch (const error& failure) {
        return std::string("throws ") + failure.what() + ": " + failure.server_message();
    }
}

void history_side::tell(history_event::kind what, const history_step& by, std::int64_t token) {
    events_.push_back({what, by, token});
}

hold history_side::hold_of(const history_step& what) const {
    const auto found = tokens_.find({what.key, what.owner});
    const std::int64_t token = found == tokens_.end() ? 1 : found->second;
    return {names_.key(what.key), names_.owner(what.owner), {token + what.token_skew}, what.kind};
}

waiter_id history_side::waiter_of(const history_step& what) const {
    const auto found = tickets_.find({what.key, what.owner});
    const std::int64_t ticket = found == tickets_.end() ? 1 : found->second;
    return {names_.key(what.key), names_.owner(what.owner), ticket};
}

acquire_request history_side::mutex_request(const history_step& what) const {
    acquire_request wanted{
        names_.key(what.key),
        names_.owner(what.owner),
        names_.session(what.session),
        "node " + std::to_string(what.session),
        std::nullopt,
        std::chrono::hours{what.hours},
        what.owner % 2 == 0 ? "" : "words of " + std::to_string(what.owner)};
    if (what.term_hours > 0) wanted.fixed_term = std::chrono::hours{what.term_hours};
    return wanted;
}

holder_request history_side::place_request(const history_step& what) const {
    holder_request wanted{
        names_.key(what.key),
        names_.owner(what.owner),
        names_.session(what.session),
        "node " + std::to_string(what.session),
        what.kind,
        what.mode,
        what.permits,
        what.capacity,
        what.gives_way_to,
        std::nullopt};
    if (what.is_instead) wanted.instead_of = hold_of(what).token;
    wanted.keeps_capacity = what.keeps_capacity;
    return wanted;
}

void history_side::note_grant(const history_step& by, std::int64_t token) {
    tokens_[{by.key, by.owner}] = token;
    tell(history_event::kind::granted, by, token);
}

// -------------------------------------------------------------------------------------- answers

namespace {

// To the nearest hour: the time that really passed is far less than half of one.
std::string hours_of(microseconds time) {
    return std::to_string(std::chrono::round<std::chrono::hours>(time).count()) + " h";
}

}  // namespace

std::string history_side::text_of(const identity& who) const {
    const auto found = people_.find(who);
    return found == people_.end() ? "a stranger" : found->second;
}

std::string history_side::text_of(const lock_info& info) const {
    std::string text = "token " + std::to_string(info.token.number);
    if (!info.is_held) return text + " free";
    text += " held by " + (info.owner ? text_of(info.owner->untyped()) : "nobody") + " of " +
            (info.session ? text_of(info.session->untyped()) : "no session") + " on " +
            info.node_info;
    text += " for " + hours_of(info.held_for) + ", left " + hours_of(info.remaining);
    if (info.kind != lock_kind::mutex) {
        return text + ", " + name_of(info.kind) + " " + name_of(info.mode) + " " +
               std::to_string(info.permits);
    }
    if (!info.metadata.empty()) text += ", says " + info.metadata;
    return text + ", level " + std::to_string(info.reentrant_count);
}

std::string history_side::text_of(const std::optional<lock_info>& info) const {
    return info ? text_of(*info) : "nothing";
}

std::string history_side::text_of(const std::vector<lock_info>& all) const {
    std::string text = std::to_string(all.size()) + " holds";
    for (const lock_info& each : all) text += "; " + each.key + ": " + text_of(each);
    return text;
}

std::string history_side::text_of(const hand_over_result& answer, const history_step& by) {
    if (answer.status == hand_over_status::refused) return "refused";
    tell(history_event::kind::released, by);
    if (answer.status == hand_over_status::freed) return "freed";
    const successor& next = answer.next.value();
    const auto owner = owners_.find(next.owner.untyped());
    if (owner == owners_.end()) return "handed over to a stranger";
    note_grant(queued_[{by.key, owner->second}], next.token.number);
    std::string text = "handed over to " + text_of(next.owner.untyped()) + " of " +
                       text_of(next.session.untyped()) + " under " +
                       std::to_string(next.token.number);
    if (next.fixed_term) text += " for " + hours_of(*next.fixed_term);
    return text;
}

}  // namespace leasehold::testing
