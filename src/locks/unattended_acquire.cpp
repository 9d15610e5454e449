// mutex::acquire_async(): a mutex_wait that the threads of its database handle go on with.
#include <exception>
#include <optional>
#include <stop_token>
#include <utility>

#include "database/unattended_calls.hpp"
#include "locks/mutex_wait.hpp"

namespace leasehold {
namespace {

class unattended_acquire final : public unattended_call {
public:
    unattended_acquire(
        std::shared_ptr<mutex::implementation> of, async_wait how, acquire_completion done
    )
        : of_(std::move(of)),
          post_(std::move(how.post)),
          done_(std::move(done)),
          wait_(
              *of_,
              wait_limit{how.timeout.value_or(std::chrono::nanoseconds::max()), how.cancel},
              waking{this}
          ),
          on_cancel_(std::move(how.cancel), waking{this}),
          on_over_(of_->session().over(), waking{this}) {}

    unattended_calls& calls() const noexcept { return of_->session().database().unattended(); }

    const void* owner() const noexcept override { return &of_->session(); }

    std::optional<local_clock::time_point> go_on() noexcept override {
        try {
            auto got = wait_.go_on();
            if (!got) return wait_.wake();
            complete(nullptr, *std::move(got));
        } catch (...) {
            complete(std::current_exception(), nothing());
        }
        return std::nullopt;
    }

    local_clock::time_point give_up_at() const noexcept override { return wait_.give_up_at(); }

    void give_up() noexcept override {
        try {
            complete(nullptr, wait_.give_up());
        } catch (...) {
            complete(std::current_exception(), nothing());
        }
    }

private:
    struct waking {
        unattended_acquire* call;
        void operator()() const noexcept { call->calls().wake(*call); }
    };

    acquisition nothing() const { return acquisition{std::nullopt, of_->key()}; }

    // The completion may give up the last reference to the mutex, and to its session.
    void complete(std::exception_ptr failure, acquisition got) noexcept {
        const auto held = std::make_shared<acquisition>(std::move(got));
        auto completion = [done = std::move(done_), failure = std::move(failure), held]() mutable {
            done(std::move(failure), std::move(*held));
        };
        post_ ? post_(std::move(completion)) : calls().complete(std::move(completion));
    }

    const std::shared_ptr<mutex::implementation> of_;
    const post_function post_;
    acquire_completion done_;
    mutex_wait wait_;
    const std::stop_callback<waking> on_cancel_, on_over_;
};

}  // namespace

void acquire_unattended(
    std::shared_ptr<mutex::implementation> of, async_wait how, acquire_completion done
) {
    if (!done) throw error(errc::invalid_argument, "acquire_async() got no completion to call");
    of->session().require_at_home();
    const auto alive = of;  // keeps it: a call that completes at once may drop the other references
    auto call =
        std::make_shared<unattended_acquire>(std::move(of), std::move(how), std::move(done));
    alive->session().database().unattended().add(std::move(call));
}

}  // namespace leasehold
