#include "leasehold/versioned_claim.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <random>

#include "claim/claim_table.hpp"
#include "claim/value_check.hpp"
#include "core/jitter.hpp"
#include "core/timed_wait.hpp"
#include "core/utf8.hpp"
#include "leasehold/clock.hpp"
#include "leasehold/error.hpp"
#include "leasehold/identity.hpp"

namespace leasehold {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;

constexpr int candidates_most = 10'000;
constexpr std::size_t tag_size = 12;  // of what tells one claim from another in claimed_by

bool is_claimable(const versioned_mapping& mapping) {
    return !mapping.state.column.empty() || !mapping.claimed_by.empty() ||
           !mapping.expires_at.empty();
}

void refuse(const versioned_mapping& mapping, const std::string& why) {
    throw error(errc::invalid_argument, "the mapping of table " + mapping.table.name + ": " + why);
}

versioned_mapping checked(versioned_mapping mapping) {
    require_table(mapping.table, mapping.key);
    require_name(mapping.version, "version");
    require_conditions(mapping.available);
    const state_column& state = mapping.state;
    if (!state.column.empty() && (state.from.is_null() || state.to.is_null())) {
        refuse(mapping, "a state needs the value it is claimed from and the one it goes to");
    }
    if (!state.column.empty() && state.from == state.to) {
        refuse(mapping, "a claim would leave the state as it is");
    }
    if (!state.column.empty() && (state.done == state.from || state.done == state.to)) {
        refuse(mapping, "done must be another state than from and to; null leaves it at to");
    }
    if (mapping.expires_at.empty() != (mapping.term == milliseconds{0})) {
        refuse(mapping, "expires_at and term go together");
    }
    if (!mapping.expires_at.empty() &&
        (mapping.term < milliseconds{1} || mapping.term > hours{366 * 24})) {
        refuse(mapping, "term must be 1 ms to 366 days");
    }
    if (mapping.claimed_by.empty() && !mapping.claimant.empty()) {
        refuse(mapping, "a claimant needs the column claimed_by");
    }
    if (mapping.claimant.ends_with(' ')) {
        refuse(mapping, "a claimant that ends in a blank may come back without it");
    }
    if (mapping.patience < milliseconds{0} || mapping.patience > hours{1}) {
        refuse(mapping, "patience must be 0 to 1 h");
    }
    return mapping;
}

void need_state(table_need& need, const versioned_mapping& mapping) {
    const state_column& state = mapping.state;
    if (state.column.empty()) return;
    need.columns.push_back(
        {.name = state.column,
         .role = "state",
         .may_be = {},
         .made_as = kind_of(state.from),
         .not_null_default = state.from,
         .is_changed = true,
         .needs_order = true,
         .stored = {state.from, state.to}}
    );
    column_need& added = need.columns.back();
    if (!state.done.is_null()) added.stored.push_back(state.done);
    added.told_apart = added.stored;
    need.equal.push_back(state.column);
}

// What makes a row one that may be claimed, besides its state.
void need_available(
    table_need& need, const versioned_mapping& mapping, const std::vector<column_kind>& times
) {
    for (const condition& each : mapping.available) {
        const bool is_due = each.is == comparison::is_due;
        need.columns.push_back(
            {.name = each.column,
             .role = "condition",
             .may_be = is_due ? times : std::vector<column_kind>{}}
        );
        if (!each.than.is_null()) need.columns.back().compared = {each.than};
        need.columns.back().told_apart = told_apart_by(each);
        if (each.is == comparison::equal || each.is == comparison::is_null) {
            need.equal.push_back(each.column);
        }
    }
    if (mapping.state.column.empty() && is_claimable(mapping)) {
        need.equal.push_back(mapping.claimed_by.empty() ? mapping.expires_at : mapping.claimed_by);
    }
    if (!mapping.expires_at.empty()) {
        if (!mapping.state.column.empty()) need.late.push_back(mapping.state.column);
        need.late.push_back(mapping.expires_at);
        need.keeps_finished = !mapping.state.column.empty() && mapping.state.done.is_null();
    }
}

table_need need_of(const versioned_mapping& mapping, engine which) {
    table_need need;
    need.table = mapping.table;
    need.key = mapping.key;
    need.order = mapping.order;
    need.without_index = "sorts, and may read, the whole table each time";
    const auto add = [&](const std::string& name, const char* role) {
        need.columns.push_back({.name = name, .role = role});
    };
    for (const std::string& each : mapping.key) add(each, "key");
    need.columns.push_back(
        {.name = mapping.version,
         .role = "version",
         .may_be = {column_kind::integer},
         .made_as = column_kind::integer,
         .not_null_default = value{0},
         .null_is_trouble = true,
         .is_changed = true,
         .counts_up = true}
    );
    need_state(need, mapping);
    const std::vector<column_kind> times = kinds_of(mapping.times, which);
    const auto add_time = [&](const std::string& name, std::chrono::microseconds term) {
        if (name.empty()) return;
        need.columns.push_back(
            {.name = name,
             .role = "time",
             .may_be = times,
             .made_as = times.front(),
             .is_changed = true,
             .is_emptied = true,
             .is_read = term.count() > 0,
             .term = term}
        );
    };
    add_time(mapping.claimed_at, {});
    add_time(mapping.expires_at, mapping.term);
    if (!mapping.claimed_by.empty()) {
        need.columns.push_back(
            {.name = mapping.claimed_by,
             .role = "claimed by",
             .may_be = {column_kind::text},
             .made_as = column_kind::text,
             .is_changed = true,
             .is_emptied = true,
             .stored = {mapping.claimant.empty() ? std::string(tag_size, '0') : mapping.claimant}}
        );
    }
    need_available(need, mapping, times);
    if (mapping.order.empty()) need.equal.clear();  // single rows are claimed, by their keys
    for (const order_by& each : mapping.order) {
        need.columns.push_back({.name = each.column, .role = "order", .needs_order = true});
    }
    for (const std::string& each : mapping.columns) add(each, "column");
    return need;
}

}  // namespace

class versioned_claim::implementation {
public:
    explicit implementation(versioned_mapping mapping)
        : mapping_(checked(std::move(mapping))),
          node_info_(node_info_of_this_process("claim")),
          table_([this](engine which) { return need_of(mapping_, which); }) {}

    const versioned_mapping& mapping() const noexcept { return mapping_; }
    claim_table& table() noexcept { return table_; }

    std::optional<found_row> read(connection& inside, const parameters& key) {
        const auto known = table_.enter_to_read(inside, "read", [&](const known_table& table) {
            require_key(table, mapping_.key, key);
        });
        return known->dialect->read(inside, sent(*known), as_sent(*known, mapping_.key, key));
    }

    std::optional<versioned_row> claim(connection& inside, const parameters& key) {
        const auto known = enter_claim(inside, [&](const known_table& table) {
            require_key(table, mapping_.key, key);
        });
        if (!known) return {};
        const versioned_mapping mapping = sent(*known);
        const auto found =
            known->dialect->read(inside, mapping, as_sent(*known, mapping_.key, key));
        if (!found || !found->is_available) return std::nullopt;
        if (!has_room(*known, found->row)) require_room(*table_.look_again(inside), found->row);
        return attempt(*known, inside, mapping, found->row);
    }

    std::optional<versioned_row> claim(connection& inside, const versioned_row& as_read) {
        const auto known = enter_claim(inside, [&](const known_table& table) {
            require_key(table, mapping_.key, as_read.key);
            require_room(table, as_read);
        });
        if (!known) return {};
        const versioned_mapping mapping = sent(*known);
        const versioned_row row{
            as_sent(*known, mapping_.key, as_read.key), as_read.version, {}, false, {}};
        if (!known->dialect->looks_unchanged(inside, mapping, row)) return std::nullopt;
        return attempt(*known, inside, mapping, as_read);
    }

    std::vector<versioned_row> claim_some(connection& inside, int n, const claim_choice& choice) {
        require_choice(n, choice);
        auto known = enter_claim(inside, [&](const known_table& table) {
            require_values(table, choice.where, mapping_.times);
        });
        if (!known) return {};
        const versioned_mapping mapping = sent(*known);
        candidate_request wanted{mapping, mapping_.available, n, "", ""};
        wanted.where.insert(wanted.where.end(), choice.where.begin(), choice.where.end());
        make_sendable(*known, wanted.where);
        // Much more than n, or those who claim at once would all meet.
        wanted.limit = std::max(8 * n, choice.candidates_max);
        const auto candidates = table_.with_index(inside, known, [&] {
            wanted.index = known->index;
            wanted.late_index = known->late_index;
            return known->dialect->candidates(inside, wanted);
        });
        const bool is_shuffled = choice.candidates == candidate_order::shuffled;
        const auto wins_max = static_cast<std::size_t>(n);
        const std::size_t part = is_shuffled ? 2 * wins_max : candidates.size();
        std::vector<versioned_row> won;
        std::size_t tried = 0;
        for (const std::size_t at : turns(candidates.size(), part)) {
            if (won.size() == wins_max) break;
            // Where it is crowded a smaller batch now, before the terms of its first rows run out.
            if (tried++ >= part && !won.empty()) break;
            if (!has_room(*known, candidates[at])) {
                known = table_.look_again(inside);
                if (!has_room(*known, candidates[at])) continue;
            }
            auto claimed = attempt(*known, inside, mapping, candidates[at]);
            if (claimed) won.push_back(std::move(*claimed));
        }
        return won;
    }

    change_outcome change(
        connection& inside, versioned_row& at, claim_change what, const assignments& to
    ) {
        const auto deadline = local_clock::now() + mapping_.patience;
        for (int refusals = 1;; ++refusals) {
            const change_outcome outcome = change_once(inside, at, what, to);
            const auto now = local_clock::now();
            if (outcome != change_outcome::busy || now >= deadline) return outcome;
            const auto pause = backed_off(refusals, milliseconds{2}, milliseconds{50});
            pause_for(std::min<std::chrono::nanoseconds>(pause, deadline - now));
        }
    }

private:
    change_outcome change_once(
        connection& inside, versioned_row& at, claim_change what, const assignments& to
    ) {
        const auto known = table_.enter_to_change(
            inside,
            "a change of a claimed row",
            claim_use::versioned,
            [&](const known_table& table) {
                require_key(table, mapping_.key, at.key);
                require_change(table, at, what, to);
                require_room(table, at);
            }
        );
        if (!known) return change_outcome::busy;
        const versioned_mapping mapping = sent(*known);
        versioned_row row = at;
        row.key = as_sent(*known, mapping_.key, at.key);
        assignments sent_to = to;
        std::vector<std::string> changed = own_columns();
        for (assignment& each : sent_to) {
            each.to = as_sent(*known, each.column, each.to);
            changed.push_back(each.column);
        }
        if (what == claim_change::finish && !stays_taken()) {
            const std::string why = taken_for_the_same(*known, inside, mapping_.available, to);
            if (!why.empty()) refuse(mapping_, "finish() would leave the row available: " + why);
        }
        const bool is_referable = is_any_referable(*known, changed);
        const table_store& dialect = *known->dialect;
        if (!dialect.looks_unchanged(inside, mapping, row)) return change_outcome::lost;
        const change_outcome outcome =
            dialect.change(inside, mapping, row, what, sent_to, is_referable);
        if (outcome != change_outcome::done) return outcome;
        ++at.version;
        at.is_claimed = at.is_claimed && what == claim_change::update;
        if (what == claim_change::release) at.claimed_as.clear();
        return outcome;
    }

    // One more is an error, which on PostgreSQL aborts, and on SQLite no integer any more.
    bool has_room(const known_table& known, const versioned_row& row) const {
        const column_shape& version = column_of(known, mapping_.version);
        const int bits = version.is_unsigned ? version.bits : version.bits - 1;
        constexpr auto most = std::numeric_limits<std::int64_t>::max();
        return row.version < (version.bits >= 64 ? most : (std::int64_t{1} << bits) - 1);
    }

    void require_room(const known_table& known, const versioned_row& row) const {
        if (has_room(known, row)) return;
        throw error(
            errc::constraint,
            "a row of table " + mapping_.table.name +
                " has the greatest version its column can hold, and cannot be claimed or changed: "
                "set it to 1 while nobody has claimed it, or widen the column"
        );
    }

    // What this claim, and no other, puts into claimed_by.
    std::string claimant_on(const known_table& known) const {
        if (mapping_.claimed_by.empty() || !mapping_.claimant.empty()) return mapping_.claimant;
        const std::string tag = identity::random().text().substr(0, tag_size);
        const std::int64_t most = column_of(known, mapping_.claimed_by).length_max;
        if (most == 0) return node_info_ + " " + tag;
        const std::size_t rest = static_cast<std::size_t>(most) - tag_size;
        return rest < 2 ? tag : std::string{cut_utf8(node_info_, rest - 1)} + " " + tag;
    }

    template <class Require>
    std::shared_ptr<const known_table> enter_claim(connection& inside, Require&& require) {
        if (!is_claimable(mapping_)) {
            refuse(mapping_, "a claim needs a state, claimed_by or expires_at to leave a trace in");
        }
        return table_.enter_to_change(inside, "try_claim", claim_use::versioned, require);
    }

    // The mapping with its values as the engine takes them.
    versioned_mapping sent(const known_table& known) const {
        versioned_mapping made = mapping_;
        state_column& state = made.state;
        for (value* each : {&state.from, &state.to, &state.done}) {
            if (!state.column.empty()) *each = as_sent(known, state.column, *each);
        }
        make_sendable(known, made.available);
        return made;
    }

    // Those that the claim itself changes; some may be empty.
    std::vector<std::string> own_columns() const {
        return {
            mapping_.version,
            mapping_.state.column,
            mapping_.claimed_by,
            mapping_.claimed_at,
            mapping_.expires_at};
    }

    // Positions in random parts, each of them in order: workers do not run after each other, and
    // two batches that hold rows the other steps around do so in one direction. MariaDB's SKIP
    // LOCKED queues for an instant, and takes two that meet from opposite sides for a deadlock.
    static std::vector<std::size_t> turns(std::size_t size, std::size_t part) {
        std::vector<std::size_t> positions(size);
        std::iota(positions.begin(), positions.end(), std::size_t{0});
        if (part >= size) return positions;
        thread_local std::mt19937 random{std::random_device{}()};
        std::shuffle(positions.begin(), positions.end(), random);
        for (std::size_t first = 0; first < size; first += part) {
            const auto at = [&](std::size_t position) {
                return positions.begin() + static_cast<std::ptrdiff_t>(std::min(position, size));
            };
            std::sort(at(first), at(first + part));
        }
        return positions;
    }

    std::optional<versioned_row> attempt(
        const known_table& known,
        connection& inside,
        const versioned_mapping& mapping,
        const versioned_row& as_read
    ) const {
        const versioned_row row{
            as_sent(known, mapping_.key, as_read.key),
            as_read.version,
            {},
            as_read.is_claimed,
            claimant_on(known)};
        const bool is_referable = is_any_referable(known, own_columns());
        if (!known.dialect->claim(inside, mapping, row, is_referable)) return std::nullopt;
        versioned_row mine = as_read;
        ++mine.version;
        mine.is_claimed = true;
        mine.claimed_as = row.claimed_as;
        return mine;
    }

    void require_choice(int n, const claim_choice& choice) const {
        require_row_count(n);
        if (choice.candidates_max < 1 || choice.candidates_max > candidates_most) {
            throw error(errc::invalid_argument, "candidates_max must be 1 to 10000");
        }
        if (n > 1 && mapping_.order.empty()) {
            refuse(mapping_, "a claim of more than one row needs an order");
        }
    }

    // Where no column of the claim's own keeps a finished row from being claimed again.
    bool stays_taken() const {
        return !mapping_.state.column.empty() || !mapping_.claimed_by.empty();
    }

    void require_change(
        const known_table& known, const versioned_row& at, claim_change what, const assignments& to
    ) const {
        if (what != claim_change::update && !at.is_claimed) {
            throw error(
                errc::invalid_argument, "only a row that was claimed can be finished or released"
            );
        }
        if (what == claim_change::finish && !stays_taken() && to.empty()) {
            refuse(mapping_, "finish() must change a column, or the row is available again");
        }
        std::vector<std::string> own = own_columns();
        own.insert(own.end(), mapping_.key.begin(), mapping_.key.end());
        for (const assignment& each : to) {
            for (const std::string& column : own) {
                if (!known.dialect->is_same_column(column, each.column)) continue;
                refuse(mapping_, "column " + each.column + " is changed by the claim alone");
            }
        }
        require_values(known, to);
    }

    const versioned_mapping mapping_;
    const std::string node_info_;
    claim_table table_;
};

versioned_claim::versioned_claim(versioned_mapping mapping)
    : inner_(std::make_shared<implementation>(std::move(mapping))) {}

void versioned_claim::check(const database& db) const {
    inner_->table().check(db);
}
std::vector<std::string> versioned_claim::check(transaction_ref tx) const {
    return inner_->table().check(tx.inside());
}

std::optional<versioned_row> versioned_claim::read(transaction_ref tx, const parameters& key)
    const {
    auto found = inner_->read(tx.inside(), key);
    if (!found) return std::nullopt;
    return std::move(found->row);
}

std::optional<versioned_row> versioned_claim::try_claim(transaction_ref tx, const parameters& key)
    const {
    return inner_->claim(tx.inside(), key);
}
std::optional<versioned_row> versioned_claim::try_claim(
    transaction_ref tx, const versioned_row& as_read
) const {
    return inner_->claim(tx.inside(), as_read);
}
std::vector<versioned_row> versioned_claim::try_claim_some(
    transaction_ref tx, int n, const claim_choice& choice
) const {
    return inner_->claim_some(tx.inside(), n, choice);
}

change_outcome versioned_claim::update(transaction_ref tx, versioned_row& at, const assignments& to)
    const {
    return inner_->change(tx.inside(), at, claim_change::update, to);
}
change_outcome versioned_claim::finish(transaction_ref tx, versioned_row& at, const assignments& to)
    const {
    return inner_->change(tx.inside(), at, claim_change::finish, to);
}
change_outcome versioned_claim::release(
    transaction_ref tx, versioned_row& at, const assignments& to
) const {
    return inner_->change(tx.inside(), at, claim_change::release, to);
}

const versioned_mapping& versioned_claim::mapping() const noexcept {
    return inner_->mapping();
}

}  // namespace leasehold
