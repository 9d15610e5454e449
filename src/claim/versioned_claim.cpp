#include "leasehold/versioned_claim.hpp"

#include <algorithm>
#include <numeric>
#include <random>
#include <thread>

#include "claim/claim_table.hpp"
#include "core/jitter.hpp"
#include "leasehold/clock.hpp"
#include "leasehold/error.hpp"

namespace leasehold {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;

constexpr int rows_max = 1000;
constexpr int candidates_most = 10'000;

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
    if (mapping.expires_at.empty() != (mapping.term == milliseconds{0})) {
        refuse(mapping, "expires_at and term go together");
    }
    if (!mapping.expires_at.empty() &&
        (mapping.term < milliseconds{1} || mapping.term > hours{366 * 24})) {
        refuse(mapping, "term must be 1 ms to 366 days");
    }
    if (mapping.patience < milliseconds{0} || mapping.patience > hours{1}) {
        refuse(mapping, "patience must be 0 to 1 h");
    }
    if (mapping.claimant.empty()) mapping.claimant = node_info_of_this_process("claim");
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
         .not_null_default = state.from}
    );
    need.equal.push_back(state.column);
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
         .null_is_trouble = true}
    );
    need_state(need, mapping);
    const std::vector<column_kind> times = kinds_of(mapping.times, which);
    for (const std::string& each : {mapping.claimed_at, mapping.expires_at}) {
        if (each.empty()) continue;
        need.columns.push_back(
            {.name = each, .role = "time", .may_be = times, .made_as = times.front()}
        );
    }
    if (!mapping.claimed_by.empty()) {
        need.columns.push_back(
            {.name = mapping.claimed_by,
             .role = "claimed by",
             .may_be = {column_kind::text},
             .made_as = column_kind::text}
        );
    }
    for (const condition& each : mapping.available) {
        const bool is_due = each.is == comparison::is_due;
        need.columns.push_back(
            {.name = each.column,
             .role = "condition",
             .may_be = is_due ? times : std::vector<column_kind>{}}
        );
        if (each.is == comparison::equal || each.is == comparison::is_null) {
            need.equal.push_back(each.column);
        }
    }
    if (mapping.state.column.empty() && is_claimable(mapping)) {
        need.equal.push_back(mapping.claimed_by.empty() ? mapping.expires_at : mapping.claimed_by);
    }
    if (mapping.order.empty()) need.equal.clear();  // single rows are claimed, by their keys
    for (const order_by& each : mapping.order) add(each.column, "order");
    for (const std::string& each : mapping.columns) add(each, "column");
    return need;
}

}  // namespace

class versioned_claim::implementation {
public:
    explicit implementation(versioned_mapping mapping)
        : mapping_(checked(std::move(mapping))),
          table_([this](engine which) { return need_of(mapping_, which); }) {}

    const versioned_mapping& mapping() const noexcept { return mapping_; }
    claim_table& table() noexcept { return table_; }

    std::optional<found_row> read(connection& inside, const parameters& key) {
        const auto known = table_.enter(inside, "read");
        require_key(*known, mapping_.key, key);
        return known->dialect->read(inside, mapping_, key);
    }

    std::optional<versioned_row> claim(connection& inside, const parameters& key) {
        const auto known = enter_claim(inside);
        require_key(*known, mapping_.key, key);
        if (!known->dialect->enter(inside, mapping_.table, claim_use::versioned)) return {};
        const auto found = known->dialect->read(inside, mapping_, key);
        if (!found || !found->is_available) return std::nullopt;
        return attempt(*known, inside, found->row);
    }

    std::optional<versioned_row> claim(connection& inside, const versioned_row& as_read) {
        const auto known = enter_claim(inside);
        require_key(*known, mapping_.key, as_read.key);
        if (!known->dialect->enter(inside, mapping_.table, claim_use::versioned)) return {};
        return attempt(*known, inside, as_read);
    }

    std::vector<versioned_row> claim_some(connection& inside, int n, const claim_choice& choice) {
        const auto known = enter_claim(inside);
        require_choice(n, choice);
        require_values(*known, choice.where);
        if (!known->dialect->enter(inside, mapping_.table, claim_use::versioned)) return {};
        candidate_request wanted{mapping_, mapping_.available, n, known->index};
        wanted.where.insert(wanted.where.end(), choice.where.begin(), choice.where.end());
        // Much more than n, or those who claim at once would all meet.
        wanted.limit = std::max(8 * n, choice.candidates_max);
        const auto candidates = known->dialect->candidates(inside, wanted);
        const bool is_shuffled = choice.candidates == candidate_order::shuffled;
        const auto wins_max = static_cast<std::size_t>(n);
        const std::size_t part = is_shuffled ? 2 * wins_max : candidates.size();
        std::vector<versioned_row> won;
        std::size_t tried = 0;
        for (const std::size_t at : turns(candidates.size(), part)) {
            if (won.size() == wins_max) break;
            // Where it is crowded a smaller batch now, before the terms of its first rows run out.
            if (tried++ >= part && !won.empty()) break;
            auto claimed = attempt(*known, inside, candidates[at]);
            if (claimed) won.push_back(std::move(*claimed));
        }
        return won;
    }

    change_outcome change(
        connection& inside, versioned_row& at, claim_change what, const assignments& to
    ) {
        const auto known = table_.enter(inside, "a change of a claimed row");
        require_key(*known, mapping_.key, at.key);
        require_change(*known, at, what, to);
        const auto deadline = local_clock::now() + mapping_.patience;
        for (int refusals = 1;; ++refusals) {
            if (known->dialect->enter(inside, mapping_.table, claim_use::versioned)) {
                if (known->dialect->change(inside, mapping_, at, what, to)) {
                    ++at.version;
                    at.is_claimed = at.is_claimed && what == claim_change::update;
                    return change_outcome::done;
                }
                if (!known->dialect->may_be_locked(inside, mapping_, at)) {
                    return change_outcome::lost;
                }
            }
            const auto now = local_clock::now();
            if (now >= deadline) return change_outcome::busy;
            const auto pause = backed_off(refusals, milliseconds{2}, milliseconds{50});
            std::this_thread::sleep_for(std::min<std::chrono::nanoseconds>(pause, deadline - now));
        }
    }

private:
    std::shared_ptr<const known_table> enter_claim(connection& inside) {
        if (!is_claimable(mapping_)) {
            refuse(mapping_, "a claim needs a state, claimed_by or expires_at to leave a trace in");
        }
        return table_.enter(inside, "try_claim");
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
        const known_table& known, connection& inside, const versioned_row& as_read
    ) const {
        if (!known.dialect->claim(inside, mapping_, as_read)) return std::nullopt;
        versioned_row mine = as_read;
        ++mine.version;
        mine.is_claimed = true;
        return mine;
    }

    void require_choice(int n, const claim_choice& choice) const {
        if (n < 1 || n > rows_max) {
            throw error(errc::invalid_argument, "a claim is of 1 to 1000 rows");
        }
        if (choice.candidates_max < 1 || choice.candidates_max > candidates_most) {
            throw error(errc::invalid_argument, "candidates_max must be 1 to 10000");
        }
        if (n > 1 && mapping_.order.empty()) {
            refuse(mapping_, "a claim of more than one row needs an order");
        }
    }

    void require_change(
        const known_table& known, const versioned_row& at, claim_change what, const assignments& to
    ) const {
        if (what != claim_change::update && !at.is_claimed) {
            throw error(
                errc::invalid_argument, "only a row that was claimed can be finished or released"
            );
        }
        const bool stays_taken = !mapping_.state.column.empty() || !mapping_.claimed_by.empty();
        if (what == claim_change::finish && !stays_taken && to.empty()) {
            refuse(mapping_, "finish() must change a column, or the row is available again");
        }
        std::vector<std::string> own = mapping_.key;
        own.insert(
            own.end(),
            {mapping_.version,
             mapping_.state.column,
             mapping_.claimed_by,
             mapping_.claimed_at,
             mapping_.expires_at}
        );
        for (const assignment& each : to) {
            for (const std::string& column : own) {
                if (!known.dialect->is_same_column(column, each.column)) continue;
                refuse(mapping_, "column " + each.column + " is changed by the claim alone");
            }
        }
        require_values(known, to);
    }

    const versioned_mapping mapping_;
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
