#pragma once
// The workload that is measured, and its place.
#include <chrono>
#include <memory>
#include <string>
#include <string_view>

#include "bench/crew.hpp"
#include "leasehold/database.hpp"

namespace leasehold::bench {

// | what            | one operation                                                         |
// |-----------------|-----------------------------------------------------------------------|
// | round-trip      | the least that can be asked for                                       |
// | commit          | one row changed, durable                                              |
// | pair            | acquire and release of a key of one's own                             |
// | refused         | a try for a key that somebody holds                                   |
// | hop             | one hot key: a worker gets it that did not have it last, and releases |
// | row-claim       | claim `batch` rows by locking them, and finish them, in one commit    |
// | versioned-claim | claim `batch` rows, commit; finish them, commit                       |
// | heartbeat       | 20 ms pass, in which a session is renewed once                        |
// | sessions        | each of `workers` sessions, of all defaults, lives for a second       |
// | release         | of a key for which all other workers try, 10,000 times a second       |
// | job-drain       | `batch` jobs of a queue are claimed, done (nothing) and ended         |
// | job-enqueue     | `batch` jobs, in one commit                                           |
// | job-start       | a job is enqueued, and begins with a worker that had nothing to do    |
//
// table/ has one more, for programs.
struct workload {
    std::string what;
    int workers = 1;
    bool are_processes = false;
    int batch = 1;  // of claims, and of jobs
    int held = 0;   // leases held besides, by each session

    // The unit that its rate counts: "pairs", "rows".
    std::string_view unit() const;
    // "16 threads", "batches of 10, 4 threads".
    std::string shape() const;
};

struct place {
    std::string url;
    table_names names{};
    int max_connections = database_settings{}.max_connections;  // of each of leasehold's handles
    // A file that processes share, to tell how long a hop took; empty: all are threads of one.
    std::string board{};

    database open(int connections, std::chrono::milliseconds statement_timeout) const;
};

// The payload of a job, and the number of jobs drained in batches of so many: enough for a second.
std::string job_payload(int number);
int jobs_to_drain(int batch);

// leasehold's own side; null where there is none of this workload.
std::unique_ptr<side> make_subject(const workload& what, const place& where);
std::unique_ptr<side> make_job_subject(const workload& what, const place& where);

// The same without what makes it hard: `release` of a key that nobody else wants. Null elsewhere.
std::unique_ptr<side> make_quiet_subject(const workload& what, const place& where);

}  // namespace leasehold::bench
