#pragma once
// Keeps late writers away from files.
//
//   leasehold::fence_file guard{"/srv/reports/.fence"};
//   guard.admit(lease->token(), [&] { replace_file("/srv/reports/today.json", text); });
//
// | the highest token in the file is … | admit()                                       |
// |------------------------------------|-----------------------------------------------|
// | none yet, or lower                 | writes the new one down, then runs the action |
// | the same                           | runs the action                               |
// | higher                             | throws lease_lost; the action does not run    |
//
// Promises: while an action runs no other one runs under the same file, in any process that uses
// it; an action under a lower token never runs after one under a higher has begun. A crash at any
// moment leaves a whole number: the file is replaced by rename(2) after fsync(2), and excluded by
// flock(2) on PATH.lock, which the kernel frees when a process dies.
// Does not promise: anything to programs that write without admit(). An action that was killed
// half-way leaves half of its work, so it should write a new file and rename it. A process that is
// stopped within its action keeps all others waiting (they give up after `timeout`). Deleting
// PATH.lock lets two act at once. On network file systems the file is as safe as their flock and
// rename are: Linux asks the NFS server since 2.6.12, and with `local_lock=flock` nobody but
// itself.
//
// Threads: safe; across processes too.
// Errors: lease_lost; timed_out if somebody else's action took longer than `timeout`;
// database_error if the file cannot be read or written, or does not hold a number; invalid_argument
// for an empty path.
#include <chrono>
#include <optional>
#include <string>

#include "leasehold/callable.hpp"
#include "leasehold/clock.hpp"
#include "leasehold/export.hpp"
#include "leasehold/identity.hpp"

namespace leasehold {

class LEASEHOLD_EXPORT fence_file {
public:
    // The file is made when it is first needed, in a folder that exists. One per resource, or per
    // folder of resources. The constructor resolves a relative path.
    explicit fence_file(std::string path);

    void admit(
        fencing_token token,
        const callable<void()>& action,
        wait_time timeout = std::chrono::seconds{10}
    ) const;

    // The highest token admitted so far; nullopt if there was none.
    std::optional<fencing_token> highest() const;

private:
    std::string path_;
};

}  // namespace leasehold
