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

}  // namespace
}  // namespace leasehold::testing
