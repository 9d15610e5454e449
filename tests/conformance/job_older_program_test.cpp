// Jobs of a database in which an older program works, too, that does not know each column.
#include "conformance/job_suite.hpp"

namespace leasehold::testing {
namespace {

using job_older_program_suite = job_suite;

// It replaces a job that came due an hour ago, and leaves `available_at`.
TEST_F(job_older_program_suite, a_job_that_it_replaced_waits_since_then) {
    const job_id id = enqueue();
    const bool is_postgres = first_.server().engine == engine::postgres;
    const std::string hour = is_postgres ? "interval '1 hour'" : "3600000000";
    current().open_as_owner({}).execute(
        "UPDATE " + first_.settings().names.prefix + "job SET available_at = enqueued_at - " +
        hour + " WHERE id = " + std::to_string(id)
    );
    EXPECT_LT((job_queue{first_, queue_}.describe().oldest_available.value()), 1min);
    EXPECT_LT(one_.claim_one().waited.value(), 1min);
}

// It replaces a job, and leaves the checkpoint of what the job was about before.
TEST_F(job_older_program_suite, a_job_that_it_replaced_begins_anew) {
    const job_id id = enqueue();
    const claimed_job got = one_.claim_one();
    EXPECT_TRUE(with_stores(one_.db, [&](connection& on, store_set& stores) {
        auto& jobs = stores.get<job_store>();
        return jobs.save_checkpoint(on, one_.mine.id(), {got.id, got.token}, "half");
    }));
    EXPECT_TRUE(one_.finish(end_of(got, job_step::release)));
    EXPECT_EQ(info(id).checkpoint, "half");
    const bool is_postgres = first_.server().engine == engine::postgres;
    const std::string second = is_postgres ? "interval '1 second'" : "1000000";
    current().open_as_owner({}).execute(
        "UPDATE " + first_.settings().names.prefix + "job SET payload = 'new', enqueued_at = " +
        "enqueued_at + " + second + " + " + second + " WHERE id = " + std::to_string(id)
    );
    EXPECT_EQ(info(id).checkpoint, "");
    EXPECT_EQ(one_.claim_one().checkpoint, "");
}

}  // namespace
}  // namespace leasehold::testing
