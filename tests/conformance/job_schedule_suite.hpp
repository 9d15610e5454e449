#pragma once
// The common parts of the suites about schedules of jobs: one that is so rare that no test meets a
// fire time, and what tests do to it.
#include <string>
#include <vector>

#include "conformance/job_suite.hpp"
#include "jobs/fire.hpp"
#include "jobs/job_schedule_store.hpp"
#include "leasehold/job_schedule.hpp"

namespace leasehold::testing {

class job_schedule_suite : public job_suite {
protected:
    // Its max_late finds any fire time in time.
    job_schedule rare() const {
        job_schedule made;
        made.name = name_;
        made.queue = queue_;
        made.every = period_;
        made.max_late = std::chrono::hours{24 * 300};
        made.job.kind = "report";
        made.job.payload = "for {fire_time}";
        return made;
    }
    template <class Use>
    auto with_schedules(const database& db, Use&& use) const {
        return with_stores(db, [&](connection& on, store_set& stores) {
            return use(on, stores.get<job_schedule_store>());
        });
    }
    job_schedule_row row() const {
        return with_schedules(second_, [&](connection& on, job_schedule_store& schedules) {
            return schedules.find(on, name_).rows.at(0);
        });
    }
    // Sets the schedule back, as if so many of its fire times had come since.
    void miss(int times) const {
        const auto seen = with_schedules(first_, [&](connection& on, job_schedule_store& all) {
            return all.find(on, name_);
        });
        job_schedule_row late = seen.rows.at(0);
        late.next = times_of(late.what).previous(seen.now) - (times - 1) * period_;
        EXPECT_TRUE(with_schedules(first_, [&](connection& on, job_schedule_store& schedules) {
            return schedules.put(on, late);
        }));
    }
    std::int64_t fire(const database& db) const {
        return with_stores(db, [&](connection& on, store_set& stores) {
            fire_place place;
            return fire_schedules(
                       on,
                       stores,
                       queue_,
                       place,
                       [](const auto& name, const auto& what) {
                           ADD_FAILURE() << name << ": " << what;
                       }
            ).jobs;
        });
    }
    std::vector<job_info> jobs() const {
        return list_jobs(second_, {.queue = queue_, .limit = 10'000}).items;
    }
    static constexpr std::chrono::days period_{50};
    const std::string name_ = fresh("schedule");
};

}  // namespace leasehold::testing
