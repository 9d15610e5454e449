#pragma once
// The handlers of a worker. They stay as they are while a run() reads them.
//
// Threads: set(), set_for_all() and wrap() by one thread at a time; a run may be under way in
// another.
#include <string>
#include <vector>

#include "core/thread_mutex.hpp"
#include "jobs/job_executor.hpp"

namespace leasehold {

class job_handlers {
public:
    // All throw invalid_argument for what cannot be one, and while a run is under way.
    void set(std::string kind, job_handler with);
    void set_for_all(job_handler with);
    void wrap(job_wrapper around);

    // With the wrappers around them.
    job_executor::handlers by_kind() const;
    job_handler for_all() const;
    std::vector<std::string> kinds() const;  // empty: all

    // A run is under way while this lives. Throws invalid_argument if one is, or if there is no
    // handler.
    class use {
    public:
        explicit use(job_handlers& of);
        ~use();
        use(const use&) = delete;
        use& operator=(const use&) = delete;

    private:
        job_handlers& of_;
    };

private:
    void require_unused(const char* what) const LEASEHOLD_REQUIRES(mutex_);
    job_handler wrapped(job_handler with) const;

    mutable thread_mutex mutex_;
    bool is_used_ LEASEHOLD_GUARDED_BY(mutex_) = false;
    job_executor::handlers by_kind_;
    job_handler for_all_;
    std::vector<job_wrapper> wrappers_;  // the outermost first
};

}  // namespace leasehold
