#include "jobs/fire.hpp"

#include <algorithm>
#include <cstdio>

#include "jobs/enqueue.hpp"
#include "jobs/job_check.hpp"
#include "jobs/job_schedule_store.hpp"
#include "leasehold/connection.hpp"
#include "leasehold/error.hpp"

namespace leasehold {
namespace {

using std::chrono::microseconds;

constexpr std::size_t max_fires = 1000;
constexpr microseconds moment{1};

// The latest times from `next` on that are not after `until`; at most `most`, in order.
std::vector<schedule::instant> latest_of(
    const schedule& when, schedule::instant next, schedule::instant until, std::size_t most
) {
    std::vector<schedule::instant> times;
    auto at = until;
    while (times.size() < most) {
        const auto found = when.previous(at);
        if (found < next) break;
        times.push_back(found);
        at = found - moment;
    }
    std::ranges::reverse(times);
    return times;
}

std::size_t made_up_for(const job_schedule& what, bool has_punctual) {
    switch (what.misfire) {
        case misfire_policy::skip:
            return 0;
        case misfire_policy::fire_once:
            return has_punctual ? 0 : 1;
        case misfire_policy::catch_up:
            return static_cast<std::size_t>(what.max_catch_up);
    }
    return 0;
}

// Fires one version of one schedule. Returns the number of jobs; nullopt if somebody else has fired
// or changed it, or has it locked.
std::optional<std::int64_t> fire_one(
    connection& on,
    store_set& stores,
    job_schedule_row row,
    schedule::instant now,
    const on_fired& tell
) {
    const fires coming = fires_of(row.what, times_of(row.what), row.next, now);
    row.next = coming.next;
    row.last = coming.last;
    std::vector<new_job> jobs;
    jobs.reserve(coming.times.size());
    for (const auto& each : coming.times) jobs.push_back(job_at(row.what, each));
    std::vector<enqueued_job> made;
    on.begin();
    try {
        if (!stores.get<job_schedule_store>().advance(on, row)) {
            on.rollback();
            return std::nullopt;
        }
        if (!jobs.empty()) {
            made = enqueue_list(on, stores, row.what.queue, jobs);
            stores.get<job_schedule_store>().note_job(on, row.what.name, made.back().id);
        }
        on.commit();
    } catch (...) {
        on.rollback();
        throw;
    }
    if (tell) tell(jobs, made);
    return std::ssize(jobs);
}

}  // namespace

schedule times_of(const job_schedule& what) {
    if (what.every.has_value() == !what.cron.empty()) {
        refuse_input("a schedule has a cron expression or a period: one of the two");
    }
    return what.every ? schedule::every(*what.every) : schedule::cron(what.cron, what.zone);
}

fires fires_of(
    const job_schedule& what, const schedule& when, schedule::instant next, schedule::instant now
) {
    fires coming;
    coming.next = next;
    if (next > now) return coming;
    // The earliest fire time within max_late.
    const auto punctual_from = std::max(next, when.next(now - what.max_late - moment));
    std::vector<schedule::instant> punctual;
    auto at = punctual_from;
    for (; at <= now && punctual.size() < max_fires; at = when.next(at)) punctual.push_back(at);
    const std::size_t most = made_up_for(what, !punctual.empty());
    coming.times = latest_of(when, next, punctual_from - moment, most);
    const auto missed_from = coming.times.empty() ? punctual_from : coming.times.front();
    coming.has_missed = when.previous(missed_from - moment) >= next;
    const std::size_t room = max_fires - std::min(max_fires, coming.times.size());
    if (punctual.size() > room) {
        at = punctual[room];
        punctual.resize(room);
    }
    coming.times.insert(coming.times.end(), punctual.begin(), punctual.end());
    coming.next = at;
    coming.last = when.previous(at - moment);
    return coming;
}

std::string text_of(schedule::instant when) {
    using namespace std::chrono;
    const auto day = floor<days>(when);
    const year_month_day date{day};
    const hh_mm_ss time{when - day};
    std::array<char, 40> text{};
    const auto number = [](auto length) { return static_cast<int>(length.count()); };
    const bool is_whole = time.subseconds() == microseconds{0};
    std::snprintf(
        text.data(),
        text.size(),
        is_whole ? "%04d-%02u-%02uT%02d:%02d:%02dZ" : "%04d-%02u-%02uT%02d:%02d:%02d.%06dZ",
        static_cast<int>(date.year()),
        static_cast<unsigned>(date.month()),
        static_cast<unsigned>(date.day()),
        number(time.hours()),
        number(time.minutes()),
        number(time.seconds()),
        number(time.subseconds())
    );
    return text.data();
}

new_job job_at(const job_schedule& what, schedule::instant when) {
    constexpr std::string_view place = "{fire_time}";
    new_job made = what.job;
    const std::string time = text_of(when);
    const std::string_view before = what.job.payload;
    made.payload.clear();
    std::size_t from = 0;
    for (auto at = before.find(place); at != before.npos; at = before.find(place, from)) {
        made.payload.append(before, from, at - from).append(time);
        from = at + place.size();
    }
    made.payload.append(before, from);
    if (made.unique_key.empty()) made.unique_key = what.name + "@" + time;
    return made;
}

fire_result fire_schedules(
    connection& on,
    store_set& stores,
    const std::string& queue,
    fire_place& place,
    const std::function<void(const std::string& name, const std::string& what)>& complain,
    const on_fired& tell
) {
    constexpr int max_pages = 10;
    fire_result all;
    for (int page = 0; page < max_pages; ++page) {
        const auto seen = stores.get<job_schedule_store>().due(on, queue, place.behind);
        for (const job_schedule_row& each : seen.rows) {
            place.behind = {each.next, each.what.name};
            try {
                if (const auto jobs = fire_one(on, stores, each, seen.now, tell)) {
                    all.jobs += *jobs;
                } else {
                    place.some_locked = true;
                }
            } catch (const error& failure) {
                // Also a row written by hand whose job the database refuses for every worker.
                const bool is_its_own =
                    failure.code() == errc::invalid_argument ||
                    failure.code() == errc::unsupported || failure.code() == errc::constraint ||
                    (failure.code() == errc::database_error && !failure.is_transient() &&
                     on.state() != connection_state::lost);
                if (!is_its_own) {
                    place.some_locked = true;
                    throw;
                }
                complain(each.what.name, failure.what());  // it stays due
            }
        }
        if (seen.rows.size() < std::size_t{job_schedule_store::max_rows}) {
            all.some_locked = place.some_locked;
            all.last = place.behind.next;
            place = {};
            return all;
        }
    }
    all.are_more = true;
    return all;
}

}  // namespace leasehold
