#pragma once
// Inserts jobs on MySQL and MariaDB. The statements: job.sql.
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "jobs/sql_known_queues.hpp"
#include "leasehold/job.hpp"
#include "sql/statements.hpp"

namespace leasehold {
class sql_dialect;
}

namespace leasehold::mysql_dialect {

// True if a plain read sees everything that was committed before it. A transaction of the
// caller's may be at another level, and see the state at its beginning.
bool reads_newest(connection& on);

// The facts about a queue that statements were sent by.
struct known_queue {
    bool is_claimed_in_turn = false;
    std::int64_t max_running_per_key = 1;
};

class job_inserts {
public:
    job_inserts(
        const sql_dialect& how,
        const statements& texts LEASEHOLD_LIFETIMEBOUND,
        known_queues<known_queue>& queues
    )
        : how_(how), texts_(texts), queues_(queues) {}

    // Inserts a list of jobs of which no two have the same unique key. Answers the id of each;
    // nullopt if its key was taken.
    std::vector<std::optional<job_id>> insert(
        connection& on, const std::string& queue, std::span<const new_job> what
    );

private:
    using places = std::vector<std::size_t>;  // in a list of new jobs
    // The number of jobs of each ordering key, as far as it matters, and when they were counted.
    struct ahead {
        std::map<std::string, std::int64_t> of_keys;
        std::int64_t now = 0;
    };

    std::set<std::string> taken_of(
        connection& on, const std::string& queue, std::span<const new_job> what
    ) const;
    std::vector<bool> are_blocked(
        connection& on, const std::string& queue, std::span<const new_job> what
    );
    ahead ahead_of(connection& on, const std::string& queue, const std::vector<std::string>& keys);
    void add_row(
        const std::string& queue,
        const new_job& what,
        bool is_blocked,
        std::string& text,
        parameters& values
    ) const;
    std::vector<job_id> insert_all(
        connection& on,
        const std::string& queue,
        std::span<const new_job> what,
        const std::vector<bool>& are_blocked,
        const places& which
    ) const;

    const sql_dialect& how_;
    const statements& texts_;
    known_queues<known_queue>& queues_;
};

}  // namespace leasehold::mysql_dialect
