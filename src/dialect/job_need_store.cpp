#include "dialect/job_need_store.hpp"

#include <algorithm>
#include <set>
#include <span>

#include "dialect/row_columns.hpp"
#include "dialect/sql_text.hpp"

namespace leasehold {
namespace {

// Numbers stand in the text itself: no parameter takes a list on every engine.
std::string list_of_ids(std::span<const job_id> ids) {
    std::string list;
    for (const job_id each : ids) {
        if (!list.empty()) list += ", ";
        list += std::to_string(each);
    }
    return list;
}

template <class Item, class Use>
void in_parts(const std::vector<Item>& all, Use&& use) {
    for (std::size_t first = 0; first < all.size(); first += job_need_store::rows_max) {
        const std::size_t count = std::min(job_need_store::rows_max, all.size() - first);
        use(std::span<const Item>{all.data() + first, count});
    }
}

// "who waits, for whom, what it wants, what became of that or null"
job_need_over over_in(const row& from) {
    job_need_over one;
    one.what = {from.integer(0), from.integer(1), static_cast<need_until>(from.integer(2))};
    if (!from.is_null(3)) one.became = static_cast<job_state>(from.integer(3));
    return one;
}

}  // namespace

statement sql_job_need_store::with(
    std::string_view name, std::string_view word, const std::string& list
) const {
    return {replaced(texts_.source(name), word, list), how_->which(), how_->written()};
}

void sql_job_need_store::add(connection& in, const std::vector<job_need>& what) {
    in_parts(what, [&](std::span<const job_need> part) {
        std::string rows;
        for (const job_need& each : part) {
            rows += rows.empty() ? "(" : ", (";
            rows += std::to_string(each.job) + ", " + std::to_string(each.needs) + ", " +
                    std::to_string(static_cast<int>(each.until)) + ")";
        }
        how_->inside(in, with("add", "{rows}", rows), {});
    });
}

std::vector<job_need_over> sql_job_need_store::over(
    connection& on, const std::vector<job_id>& ids
) {
    std::vector<job_need_over> all;
    in_parts(ids, [&](std::span<const job_id> part) {
        const auto found = how_->read(on, with("over", "{ids}", list_of_ids(part)), {});
        for (const row& each : found.rows) all.push_back(over_in(each));
    });
    return all;
}

std::vector<job_need_over> sql_job_need_store::over_behind(connection& on, need_place& place) {
    const parameters behind{place.needs, place.job, static_cast<std::int64_t>(rows_max)};
    const auto rows = read(on, "look_behind", behind).rows;
    std::vector<job_need_over> all;
    for (const row& each : rows) {
        place = {each.integer(1), each.integer(0)};
        if (each.integer(4) == 0) all.push_back(over_in(each));
    }
    if (rows.size() < rows_max) place = {};
    return all;
}

void sql_job_need_store::forget(connection& on, const std::vector<job_need_over>& over) {
    in_parts(over, [&](std::span<const job_need_over> part) {
        std::set<job_id> ended;
        std::string rows;
        for (const auto& [what, became] : part) {
            ended.insert(what.needs);
            rows += rows.empty() ? "(" : ", (";
            rows += std::to_string(what.job) + ", " + std::to_string(what.needs) + ")";
        }
        const std::vector<job_id> ids(ended.begin(), ended.end());
        const std::string text =
            replaced(replaced(texts_.source("forget"), "{ids}", list_of_ids(ids)), "{rows}", rows);
        how_->write(on, statement{text, how_->which(), how_->written()}, {});
    });
}

std::int64_t sql_job_need_store::free(connection& on, const std::vector<job_id>& ids) {
    std::int64_t freed = 0;
    in_parts(ids, [&](std::span<const job_id> part) {
        freed += how_->write(on, with("free", "{ids}", list_of_ids(part)), {}).affected_rows;
    });
    return freed;
}

std::vector<job_id> sql_job_need_store::left_waiting(
    connection& on, std::string_view queue, job_id& place
) {
    const parameters behind{std::string{queue}, place, static_cast<std::int64_t>(rows_max)};
    const auto rows = read(on, "look_at_waiting", behind).rows;
    std::vector<job_id> left;
    for (const row& each : rows) {
        place = each.integer(0);
        if (each.integer(1) == 0) left.push_back(place);
    }
    if (rows.size() < rows_max) place = 0;
    return left;
}

bool sql_job_need_store::note_reason(connection& on, job_id id, const std::string& words) {
    return write(on, "note_reason", {id, words}).affected_rows == 1;
}

std::vector<job_id> sql_job_need_store::needs_of(connection& on, job_id id, int limit) {
    std::vector<job_id> all;
    for (const row& each : read(on, "needs_of", {id, limit}).rows) all.push_back(each.integer(0));
    return all;
}

bool sql_job_need_store::is_needed(connection& on, job_id id) {
    return !read(on, "is_needed", {id}).rows.empty();
}

}  // namespace leasehold
