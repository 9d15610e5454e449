#pragma once
// The session of an agent: one for all programs that are connected to it, and another one when
// that was lost.
//
// Threads: safe.
#include <exception>
#include <memory>
#include <mutex>
#include <utility>

#include "leasehold/clock.hpp"
#include "leasehold/database.hpp"
#include "leasehold/session.hpp"

namespace leasehold::cli {

class session_source {
public:
    session_source(database db, session_settings settings)
        : database_(std::move(db)), settings_(std::move(settings)) {}

    const database& where() const noexcept { return database_; }

    // The session that lives, or a new one. Throws if none can be opened: all that wait for the
    // same attempt, so that they do not try one after another while the database is away. It lives
    // as long as somebody has it, and what it holds as long as it does.
    std::shared_ptr<session> live() {
        const auto asked = local_clock::now();
        std::shared_ptr<session> lost;  // ends without the mutex
        const std::lock_guard guard{mutex_};
        if (session_ && session_->is_live()) return session_;
        if (failure_ && failed_at_ >= asked) std::rethrow_exception(failure_);
        lost = std::exchange(session_, nullptr);
        try {
            session_ = std::make_shared<session>(database_, settings_);
        } catch (...) {
            failure_ = std::current_exception();
            failed_at_ = local_clock::now();
            throw;
        }
        return session_;
    }

private:
    const database database_;
    const session_settings settings_;
    std::mutex mutex_;
    std::shared_ptr<session> session_;
    std::exception_ptr failure_;  // of the last attempt that failed
    local_clock::time_point failed_at_{};
};

}  // namespace leasehold::cli
