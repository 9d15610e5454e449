#include "claims/row_batch.hpp"

#include <algorithm>
#include <utility>
#include <variant>

namespace leasehold {
namespace {

// Compares values as their keys are ordered; values of one kind as that kind is.
int compared(const value& one, const value& other) {
    const auto& left = one.held();
    const auto& right = other.held();
    if (left.index() != right.index()) return left.index() < right.index() ? -1 : 1;
    const auto sign = [](const auto& less, const auto& greater) {
        return less < greater ? -1 : greater < less ? 1 : 0;
    };
    if (const auto* number = std::get_if<std::int64_t>(&left)) {
        return sign(*number, std::get<std::int64_t>(right));
    }
    if (const auto* real = std::get_if<double>(&left)) return sign(*real, std::get<double>(right));
    if (const auto* text = std::get_if<std::string>(&left)) {
        return sign(*text, std::get<std::string>(right));
    }
    if (const auto* bytes = std::get_if<blob>(&left)) {
        return sign(bytes->bytes, std::get<blob>(right).bytes);
    }
    return 0;
}

int compared(const parameters& one, const parameters& other) {
    for (std::size_t at = 0; at < one.size(); ++at) {
        if (const int sign = compared(one[at], other[at]); sign != 0) return sign;
    }
    return 0;
}

// The form of a row: each is a statement of its own.
std::size_t form_of(const versioned_row& row, bool has_claimed_by) {
    const bool has_claimant = has_claimed_by && !row.claimed_as.empty();
    return (row.is_claimed ? 2U : 0U) + (has_claimant ? 1U : 0U);
}

}  // namespace

row_parts parts_of(
    std::span<const versioned_row> rows,
    const std::vector<std::size_t>& places,
    bool has_claimed_by,
    const std::function<versioned_row(const versioned_row&)>& as_sent
) {
    std::vector<std::pair<versioned_row, std::size_t>> all;
    all.reserve(places.size());
    for (const std::size_t at : places) all.emplace_back(as_sent(rows[at]), at);
    std::ranges::stable_sort(all, [](const auto& one, const auto& other) {
        return compared(one.first.key, other.first.key) < 0;
    });
    constexpr std::size_t forms = 4;
    row_parts made;
    parameters last;
    std::size_t turn = 0;
    for (auto& [row, place] : all) {
        const bool is_again = made.keys > 0 && compared(last, row.key) == 0;
        turn = is_again ? turn + 1 : 0;
        if (!is_again) {
            last = row.key;
            ++made.keys;
        }
        const std::size_t number = turn * forms + form_of(row, has_claimed_by);
        if (made.parts.size() <= number) made.parts.resize(number + 1);
        row_part& part = made.parts[number];
        part.rows.push_back(std::move(row));
        part.places.push_back(place);
        part.keys.push_back(made.keys - 1);
    }
    std::erase_if(made.parts, [](const row_part& each) { return each.rows.empty(); });
    return made;
}

}  // namespace leasehold
