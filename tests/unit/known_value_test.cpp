// A number that is none of an enum's values is refused, by the enum's name.
#include "leasehold/job_queue.hpp"
#include "leasehold/job_schedule.hpp"
#include "leasehold/row_claim.hpp"
#include "leasehold/versioned_claim.hpp"
#include "unit/model_fixture.hpp"

namespace leasehold::testing {
namespace {

class known_value_test : public model_test {
protected:
    template <class Enum>
    void expect_refused(const char* name, const std::function<void(Enum)>& call) {
        for (const int number : {-1, 0, 99}) {
            const auto failure = thrown_by([&] { call(static_cast<Enum>(number)); });
            ASSERT_TRUE(failure) << name << ' ' << number;
            EXPECT_EQ(failure->code(), errc::invalid_argument);
            EXPECT_EQ(
                std::string{failure->what()},
                std::string{name} + " has no value " + std::to_string(number) +
                    ": name one of its values"
            );
        }
    }

    const database db_ = sound();
    const job_queue mail_{db_, "mail"};
};

TEST_F(known_value_test, jobs_refuse_it) {
    expect_refused<unique_until>("unique_until", [&](unique_until each) {
        mail_.enqueue({.kind = "letter", .unique_key = "u", .unique = each});
    });
    expect_refused<on_conflict>("on_conflict", [&](on_conflict each) {
        mail_.enqueue({.kind = "letter", .unique_key = "u", .conflict = each});
    });
    expect_refused<dependency_until>("dependency_until", [&](dependency_until each) {
        mail_.enqueue({.kind = "letter", .depends_until = each});
    });
    expect_refused<job_state>("job_state", [&](job_state each) {
        list_jobs(db_, {.state = each});
    });
    expect_refused<job_order>("job_order", [&](job_order each) {
        list_jobs(db_, {.order = each});
    });
    expect_refused<misfire_policy>("misfire_policy", [&](misfire_policy each) {
        job_schedule nightly;
        nightly.name = "nightly";
        nightly.queue = "mail";
        nightly.cron = "0 3 * * *";
        nightly.misfire = each;
        set_job_schedule(db_, nightly);
    });
}

TEST_F(known_value_test, claims_refuse_it) {
    expect_refused<lock_strength>("lock_strength", [](lock_strength each) {
        row_claim{{.table = "t", .key = {"id"}, .strength = each}};
    });
    expect_refused<comparison>("comparison", [](comparison each) {
        row_claim{{.table = "t", .key = {"id"}, .where = {{.column = "c", .is = each}}}};
    });
    expect_refused<time_kind>("time_kind", [](time_kind each) {
        versioned_claim{{
            .table = "t",
            .key = {"id"},
            .version = "v",
            .state = {"status", "free", "taken", "sold"},
            .times = each,
        }};
    });
}

}  // namespace
}  // namespace leasehold::testing
