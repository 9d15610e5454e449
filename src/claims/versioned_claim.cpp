#include "leasehold/versioned_claim.hpp"

#include <algorithm>
#include <iterator>
#include <limits>
#include <numeric>
#include <utility>

#include "claims/claim_table.hpp"
#include "claims/row_batch.hpp"
#include "claims/versioned_need.hpp"
#include "core/jitter.hpp"
#include "core/known_value.hpp"
#include "core/timed_wait.hpp"
#include "core/utf8.hpp"
#include "leasehold/clock.hpp"
#include "leasehold/error.hpp"
#include "leasehold/identity.hpp"

namespace leasehold {
namespace {

using std::chrono::milliseconds;

constexpr int candidates_most = 10'000;

}  // namespace

class versioned_claim::implementation {
public:
    explicit implementation(versioned_mapping mapping)
        : mapping_(checked(std::move(mapping))),
          node_info_(node_info_of_this_process("claim")),
          column_names_(std::make_shared<column_names::element_type>(mapping_.columns)),
          table_([this](engine which) { return need_of(mapping_, which); }) {}

    const versioned_mapping& mapping() const noexcept { return mapping_; }
    claim_table& table() noexcept { return table_; }

    std::optional<found_row> read(connection& inside, const parameters& key) {
        const auto known = table_.enter_to_read(inside, "read_in", [&](const known_table& table) {
            require_key(table, mapping_.key, key);
        });
        return found_by(*known, inside, sent(*known), key);
    }

    std::optional<versioned_row> claim(connection& inside, const parameters& key) {
        const auto known = enter_claim(inside, [&](const known_table& table) {
            require_key(table, mapping_.key, key);
        });
        if (!known) return {};
        const versioned_mapping mapping = sent(*known);
        const auto found = found_by(*known, inside, mapping, key);
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
        several_request wanted{mapping, mapping_.available};
        wanted.where.insert(wanted.where.end(), choice.where.begin(), choice.where.end());
        make_sendable(*known, wanted.where);
        wanted.count = n;
        // Much more than n, so that concurrent callers do not all pick the same rows.
        wanted.limit = std::max(8 * n, choice.max_candidates);
        wanted.is_shuffled = choice.candidates == candidate_order::shuffled;
        wanted.claimed_as = claimant_on(*known);
        const auto claim_known = [&] {
            wanted.index = known->index;
            wanted.late_index = known->late_index;
            wanted.key_index = known->key_index;
            wanted.version_most = version_most(*known);
            wanted.is_referable = is_any_referable(*known, own_columns());
            return known->dialect->claim_several(inside, wanted);
        };
        several_claimed got = table_.with_index(inside, known, claim_known);
        if (got.has_passed_over) {
            const std::int64_t before = wanted.version_most;
            known = table_.look_again(inside);
            wanted.count = n - static_cast<int>(got.rows.size());
            if (version_most(*known) > before && wanted.count > 0) {
                auto more = claim_known().rows;
                std::ranges::move(more, std::back_inserter(got.rows));
            }
        }
        for (versioned_row& each : got.rows) {
            ++each.version;
            each.is_claimed = true;
            each.claimed_as = wanted.claimed_as;
            each.columns.names = column_names_;
        }
        return std::move(got.rows);
    }

    change_outcome change(
        connection& inside, versioned_row& at, claim_change what, const assignments& to
    ) {
        return change(inside, std::span{&at, 1}, what, to).front();
    }

    std::vector<change_outcome> change(
        connection& inside, std::span<versioned_row> rows, claim_change what, const assignments& to
    ) {
        const auto deadline = local_clock::now() + mapping_.busy_timeout;
        std::vector<change_outcome> outcomes(rows.size(), change_outcome::busy);
        std::vector<std::size_t> busy(rows.size());
        std::iota(busy.begin(), busy.end(), std::size_t{0});
        for (int refusals = 1; !busy.empty(); ++refusals) {
            change_once(inside, rows, what, to, outcomes, busy);
            std::erase_if(busy, [&](std::size_t at) {
                return outcomes[at] != change_outcome::busy;
            });
            const auto now = local_clock::now();
            if (busy.empty() || now >= deadline) break;
            const auto pause = backed_off(refusals, milliseconds{2}, milliseconds{50});
            pause_for(std::min<std::chrono::nanoseconds>(pause, deadline - now));
        }
        return outcomes;
    }

private:
    // Tries once to change the row at each of these indexes.
    void change_once(
        connection& inside,
        std::span<versioned_row> rows,
        claim_change what,
        const assignments& to,
        std::vector<change_outcome>& outcomes,
        const std::vector<std::size_t>& places
    ) {
        auto known = table_.enter_to_change(
            inside,
            "a change of a claimed row",
            claim_use::versioned,
            [&](const known_table& table) {
                require_change(table, what, to);
                for (const std::size_t at : places) {
                    require_key(table, mapping_.key, rows[at].key);
                    require_claimed(rows[at], what);
                    require_room(table, rows[at]);
                }
            }
        );
        if (!known) return;
        const auto judged = known;  // and kept, while another may be looked at
        const versioned_mapping mapping = sent(*known);
        assignments sent_to = to;
        std::vector<std::string> changed = own_columns();
        for (assignment& each : sent_to) {
            each.to = as_sent(*known, each.column, each.to);
            changed.push_back(each.column);
        }
        if (what == claim_change::finish && !stays_taken()) {
            const std::string why = taken_for_the_same(*known, inside, mapping_.available, to);
            if (!why.empty()) refuse(mapping_, "finish_in() would leave the row available: " + why);
        }
        change_request wanted{mapping, what, sent_to, is_any_referable(*known, changed)};
        for (const std::string& each : mapping_.key) {
            wanted.key.push_back(&column_of(*judged, each));
        }
        const auto sent_row = [&](const versioned_row& each) {
            return versioned_row{
                as_sent(*judged, mapping_.key, each.key),
                each.version,
                {},
                each.is_claimed,
                each.claimed_as};
        };
        const bool has_claimed_by = !mapping_.claimed_by.empty();
        const row_parts all = parts_of(rows, places, has_claimed_by, sent_row);
        std::vector<bool> is_done(all.keys);
        for (row_part part : all.parts) {
            drop_done(part, is_done, outcomes);
            if (part.rows.empty()) continue;
            const auto said = table_.with_index(inside, known, [&] {
                wanted.key_index = known->key_index;
                return known->dialect->change_several(inside, wanted, part.rows);
            });
            for (std::size_t at = 0; at < said.size(); ++at) {
                outcomes[part.places[at]] = said[at];
                if (said[at] != change_outcome::done) continue;
                is_done[part.keys[at]] = true;
                versioned_row& done = rows[part.places[at]];
                ++done.version;
                done.is_claimed = done.is_claimed && what == claim_change::update;
                if (what == claim_change::release) done.claimed_as.clear();
            }
        }
    }

    // If one change of the call was done to a row, all other changes to that row have lost: its
    // version has moved on.
    static void drop_done(
        row_part& part, const std::vector<bool>& is_done, std::vector<change_outcome>& outcomes
    ) {
        row_part left;
        for (std::size_t at = 0; at < part.rows.size(); ++at) {
            if (is_done[part.keys[at]]) {
                outcomes[part.places[at]] = change_outcome::lost;
                continue;
            }
            left.rows.push_back(std::move(part.rows[at]));
            left.places.push_back(part.places[at]);
            left.keys.push_back(part.keys[at]);
        }
        part = std::move(left);
    }

    // The greatest version of the column; a claim or change needs one more.
    std::int64_t version_most(const known_table& known) const {
        const column_shape& version = column_of(known, mapping_.version);
        const int bits = version.is_unsigned ? version.bits : version.bits - 1;
        constexpr auto most = std::numeric_limits<std::int64_t>::max();
        return version.bits >= 64 ? most : (std::int64_t{1} << bits) - 1;
    }

    // Adding one to the greatest version would be an error, which on PostgreSQL aborts the
    // transaction; on SQLite the result would be no integer.
    bool has_room(const known_table& known, const versioned_row& row) const {
        return row.version < version_most(known);
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

    // The text that this claim, and no other, puts into claimed_by.
    std::string claimant_on(const known_table& known) const {
        if (mapping_.claimed_by.empty() || !mapping_.claimant.empty()) return mapping_.claimant;
        const std::string tag = identity::random().text().substr(0, tag_size);
        const std::int64_t most = column_of(known, mapping_.claimed_by).max_length;
        if (most == 0) return node_info_ + " " + tag;
        const std::size_t rest = static_cast<std::size_t>(most) - tag_size;
        return rest < 2 ? tag : std::string{cut_utf8(node_info_, rest - 1)} + " " + tag;
    }

    template <class Require>
    std::shared_ptr<const known_table> enter_claim(connection& inside, Require&& require) {
        if (!is_claimable(mapping_)) {
            refuse(mapping_, "a claim needs a state, claimed_by or expires_at to leave a trace in");
        }
        return table_.enter_to_change(inside, "try_claim_in", claim_use::versioned, require);
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

    // The columns that the claim itself changes; some may be empty.
    std::vector<std::string> own_columns() const {
        return {
            mapping_.version,
            mapping_.state.column,
            mapping_.claimed_by,
            mapping_.claimed_at,
            mapping_.expires_at};
    }

    std::optional<found_row> found_by(
        const known_table& known,
        connection& inside,
        const versioned_mapping& mapping,
        const parameters& key
    ) const {
        auto found = known.dialect->read(inside, mapping, as_sent(known, mapping_.key, key));
        if (found) found->row.columns.names = column_names_;
        return found;
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
        if (choice.max_candidates < 1 || choice.max_candidates > candidates_most) {
            throw error(errc::invalid_argument, "max_candidates must be 1 to 10000");
        }
        require_known(choice.candidates, candidate_order::ordered, "candidate_order");
        if (n > 1 && mapping_.order.empty()) {
            refuse(mapping_, "a claim of more than one row needs an order");
        }
    }

    // True if a column of the claim's own keeps a finished row from being claimed again.
    bool stays_taken() const {
        return !mapping_.state.column.empty() || !mapping_.claimed_by.empty();
    }

    static void require_claimed(const versioned_row& at, claim_change what) {
        if (what == claim_change::update || at.is_claimed) return;
        throw error(
            errc::invalid_argument, "only a row that was claimed can be finished or released"
        );
    }

    void require_change(const known_table& known, claim_change what, const assignments& to) const {
        if (what == claim_change::finish && !stays_taken() && to.empty()) {
            refuse(mapping_, "finish_in() must change a column, or the row is available again");
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
    const column_names column_names_;
    claim_table table_;
};

versioned_claim::versioned_claim(versioned_mapping mapping)
    : inner_(std::make_shared<implementation>(std::move(mapping))) {}

void versioned_claim::check(const database& db) const {
    inner_->table().check(db);
}
std::vector<std::string> versioned_claim::check_in(transaction_ref tx) const {
    return inner_->table().check(tx.inside());
}

std::optional<versioned_row> versioned_claim::read_in(transaction_ref tx, const parameters& key)
    const {
    auto found = inner_->read(tx.inside(), key);
    if (!found) return std::nullopt;
    return std::move(found->row);
}

std::optional<versioned_row> versioned_claim::try_claim_in(
    transaction_ref tx, const parameters& key
) const {
    return inner_->claim(tx.inside(), key);
}
std::optional<versioned_row> versioned_claim::try_claim_in(
    transaction_ref tx, const versioned_row& as_read
) const {
    return inner_->claim(tx.inside(), as_read);
}
std::vector<versioned_row> versioned_claim::try_claim_some_in(
    transaction_ref tx, int n, const claim_choice& choice
) const {
    return inner_->claim_some(tx.inside(), n, choice);
}

change_outcome versioned_claim::update_in(
    transaction_ref tx, versioned_row& at, const assignments& to
) const {
    return inner_->change(tx.inside(), at, claim_change::update, to);
}
change_outcome versioned_claim::finish_in(
    transaction_ref tx, versioned_row& at, const assignments& to
) const {
    return inner_->change(tx.inside(), at, claim_change::finish, to);
}
change_outcome versioned_claim::release_in(
    transaction_ref tx, versioned_row& at, const assignments& to
) const {
    return inner_->change(tx.inside(), at, claim_change::release, to);
}

std::vector<change_outcome> versioned_claim::update_in(
    transaction_ref tx, std::span<versioned_row> rows, const assignments& to
) const {
    return inner_->change(tx.inside(), rows, claim_change::update, to);
}
std::vector<change_outcome> versioned_claim::finish_in(
    transaction_ref tx, std::span<versioned_row> rows, const assignments& to
) const {
    return inner_->change(tx.inside(), rows, claim_change::finish, to);
}
std::vector<change_outcome> versioned_claim::release_in(
    transaction_ref tx, std::span<versioned_row> rows, const assignments& to
) const {
    return inner_->change(tx.inside(), rows, claim_change::release, to);
}

const versioned_mapping& versioned_claim::mapping() const& {
    return inner_->mapping();
}

}  // namespace leasehold
