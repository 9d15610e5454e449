#include "jobs/sql_job_need_store.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "sql/sql_text.hpp"

namespace leasehold {
namespace {

// The ids stand in the text itself: no parameter takes a list on every engine.
std::string list_of_ids(std::span<const job_id> ids, std::string_view between = ", ") {
    std::string list;
    for (const job_id each : ids) {
        if (!list.empty()) list += between;
        list += std::to_string(each);
    }
    return list;
}

template <class Item, class Use>
void in_parts(const std::vector<Item>& all, Use&& use) {
    for (std::size_t first = 0; first < all.size(); first += job_need_store::max_rows) {
        const std::size_t count = std::min(job_need_store::max_rows, all.size() - first);
        use(std::span<const Item>{all.data() + first, count});
    }
}

job_need_over over_in(const row& from) {
    using column = columns::job_need::over;
    const auto until = static_cast<dependency_until>(from.integer(column::until));
    job_need_over one;
    one.what = {from.integer(column::job), from.integer(column::needs), until};
    const bool has_ended = !from.is_null(column::became);
    if (has_ended) one.became = static_cast<job_state>(from.integer(column::became));
    return one;
}

}  // namespace

template <class Send>
result sql_job_need_store::about(
    std::string_view name, std::span<const job_id> ids, const parameters& more, Send&& send
) const {
    const std::string list = list_of_ids(ids);
    if (how_->which() == engine::postgres) {
        return send(texts_[name], joined({"{" + list + "}"}, more));
    }
    std::string text = replaced(texts_.source(name), "{ids}", list);
    text = replaced(std::move(text), "{values}", "(" + list_of_ids(ids, "), (") + ")");
    return send(statement{text, how_->which(), how_->written()}, more);
}

void sql_job_need_store::add(connection& in, const std::vector<job_need>& what) {
    in_parts(what, [&](std::span<const job_need> part) {
        std::string rows;
        for (const job_need& each : part) {
            rows += rows.empty() ? "(" : ", (";
            rows += std::to_string(each.job) + ", " + std::to_string(each.needs) + ", " +
                    std::to_string(static_cast<int>(each.until)) + ")";
        }
        const std::string text = replaced(texts_.source("add"), "{rows}", rows);
        how_->inside(in, statement{text, how_->which(), how_->written()}, {});
    });
}

std::vector<job_need_over> sql_job_need_store::over(
    connection& on, const std::vector<job_id>& ids
) {
    std::vector<job_need_over> all;
    in_parts(ids, [&](std::span<const job_id> part) {
        if (all.size() >= max_rows) return;
        const parameters limit{static_cast<std::int64_t>(max_rows)};
        for (const row& each : about("over", part, limit, reading(on)).rows)
            all.push_back(over_in(each));
    });
    return all;
}

std::vector<job_need_over> sql_job_need_store::over_behind(connection& on, need_place& place) {
    using column = columns::job_need::look_behind;
    const auto is_there = [](const row& each) { return each.integer(column::is_there) != 0; };
    const parameters behind{place.needs, place.job, static_cast<std::int64_t>(max_passed)};
    const auto rows = read(on, "look_behind", behind).rows;
    std::vector<job_need_over> all;
    for (const row& each : rows) {
        const job_need_over one = over_in(each);
        place = {one.what.needs, one.what.job};
        if (!is_there(each)) all.push_back(one);
    }
    if (rows.size() < max_passed) {
        place = {};
    } else if (is_there(rows.back())) {
        // The needed job has not ended: skip the other rows of jobs that wait for it.
        place = {place.needs + 1, 0};
    }
    return all;
}

void sql_job_need_store::forget(connection& in, const std::vector<job_need_over>& over) {
    in_parts(over, [&](std::span<const job_need_over> part) { forget_rows(in, part); });
}

// If lists stand in the text it sends a statement for each waiting job, or for each needed one,
// whichever are fewer.
void sql_job_need_store::forget_rows(connection& in, std::span<const job_need_over> over) {
    std::map<job_id, std::vector<job_id>> of, for_whom;
    std::vector<job_id> waiting, needed;
    for (const auto& [what, became] : over) {
        of[what.job].push_back(what.needs);
        for_whom[what.needs].push_back(what.job);
        waiting.push_back(what.job);
        needed.push_back(what.needs);
    }
    if (const statement* const all = texts_.find("forget")) {
        how_->inside(in, *all, {"{" + list_of_ids(waiting) + "}", "{" + list_of_ids(needed) + "}"});
        return;
    }
    const auto send = [&](const statement& what, const parameters& values) {
        return how_->inside(in, what, values);
    };
    const bool is_by_waiting = of.size() <= for_whom.size();
    for (const auto& [one, others] : is_by_waiting ? of : for_whom) {
        about(is_by_waiting ? "forget_of" : "forget_for", others, {one}, send);
    }
}

// The jobs that nobody has locked. In an open transaction they stay locked.
std::vector<job_id> sql_job_need_store::not_locked(connection& on, std::span<const job_id> ids)
    const {
    constexpr std::string_view name = "lock_unlocked";
    if (!texts_.find(name)) return {ids.begin(), ids.end()};
    return only_integers(about(name, ids, {}, sending(on)));
}

std::int64_t sql_job_need_store::free(connection& on, const std::vector<job_id>& ids) {
    std::int64_t freed = 0;
    in_parts(ids, [&](std::span<const job_id> part) {
        const auto some = not_locked(on, part);
        if (!some.empty()) freed += about("free", some, {}, sending(on)).affected_rows;
    });
    return freed;
}

std::vector<std::string> sql_job_need_store::queues_of(
    connection& on, const std::vector<job_id>& ids
) {
    std::set<std::string> names;
    in_parts(ids, [&](std::span<const job_id> part) {
        for (std::string& each : only_texts(about("queues_of", part, {}, reading(on)))) {
            names.insert(std::move(each));
        }
    });
    return {names.begin(), names.end()};
}

std::vector<job_id> sql_job_need_store::left_waiting(
    connection& on, std::string_view queue, job_id& place
) {
    const parameters behind{std::string{queue}, place, static_cast<std::int64_t>(max_passed)};
    using column = columns::job_need::look_at_waiting;
    const auto rows = read(on, "look_at_waiting", behind).rows;
    std::vector<job_id> left;
    for (const row& each : rows) {
        place = each.integer(column::id);
        if (each.integer(column::has_needs) == 0) left.push_back(place);
    }
    if (rows.size() < max_passed) place = 0;
    return left;
}

job_need_store::note_outcome sql_job_need_store::note_reason(
    connection& on, job_id id, const std::string& words
) {
    // The number of changed rows does not tell whether the job waits: its row may have this text.
    if (read(on, "waits", {id}).rows.empty()) return note_outcome::gone;
    if (not_locked(on, {&id, 1}).empty()) return note_outcome::locked;
    write(on, "note_reason", {id, words});
    return note_outcome::noted;
}

std::vector<job_id> sql_job_need_store::needs_of(connection& on, job_id id, int limit) {
    return only_integers(read(on, "needs_of", {id, limit}));
}

bool sql_job_need_store::is_needed(connection& on, job_id id) {
    return !read(on, "is_needed", {id}).rows.empty();
}

std::vector<job_id> sql_job_need_store::needed_by(connection& on, job_id id, int limit) {
    return only_integers(read(on, "needed_by", {id, limit}));
}

}  // namespace leasehold
