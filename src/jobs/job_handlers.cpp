#include "jobs/job_handlers.hpp"

#include <utility>

#include "jobs/job_check.hpp"

namespace leasehold {

void job_handlers::require_unused(const char* what) const {
    if (!is_used_) return;
    refuse_input(std::string{what} + "() was called while run() is under way: call it before");
}

void job_handlers::set(std::string kind, job_handler with) {
    const thread_guard guard{mutex_};
    require_unused("handle");
    require_key(kind, "kind of a job");
    if (!with) refuse_input("a handler must be something to call");
    if (!by_kind_.try_emplace(kind, std::move(with)).second) {
        refuse_input("the kind '" + kind + "' has a handler already");
    }
}

void job_handlers::set_for_all(job_handler with) {
    const thread_guard guard{mutex_};
    require_unused("handle_all");
    if (!with || for_all_) refuse_input("there is one handler for all kinds");
    for_all_ = std::move(with);
}

void job_handlers::wrap(job_wrapper around) {
    const thread_guard guard{mutex_};
    require_unused("wrap");
    if (!around) refuse_input("a wrapper must be something to call");
    wrappers_.push_back(std::move(around));
}

job_handler job_handlers::wrapped(job_handler with) const {
    for (auto each = wrappers_.rbegin(); each != wrappers_.rend(); ++each) {
        with = [around = *each, next = std::move(with)](job& mine) { around(mine, next); };
    }
    return with;
}

job_executor::handlers job_handlers::by_kind() const {
    job_executor::handlers all = by_kind_;
    for (auto& [kind, with] : all) with = wrapped(std::move(with));
    return all;
}

job_handler job_handlers::for_all() const {
    return for_all_ ? wrapped(for_all_) : for_all_;
}

std::vector<std::string> job_handlers::kinds() const {
    std::vector<std::string> all;
    if (for_all_) return all;
    for (const auto& [kind, with] : by_kind_) all.push_back(kind);
    return all;
}

job_handlers::use::use(job_handlers& of) : of_(of) {
    const thread_guard guard{of.mutex_};
    if (of.is_used_) refuse_input("a run() of this worker is under way: wait until it has ended");
    if (of.by_kind_.empty() && !of.for_all_) {
        refuse_input("a worker needs a handler: call handle() before run()");
    }
    of.is_used_ = true;
}

job_handlers::use::~use() {
    const thread_guard guard{of_.mutex_};
    of_.is_used_ = false;
}

}  // namespace leasehold
