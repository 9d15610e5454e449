#pragma once
// A function that a program hands to the library: a lambda, a function, an object with operator().
//
// Unlike std::function it takes one that can be moved and not copied, and no pointer to a member;
// copies of a callable share the function. It does not include <functional>, which would be a sixth
// of what a compiler reads.
//
// Errors: a call of an empty one throws invalid_argument. Threads: as the function that it holds.
#include <cstddef>
#include <memory>
#include <type_traits>
#include <utility>

#include "leasehold/export.hpp"

namespace leasehold {

[[noreturn]] LEASEHOLD_EXPORT void refuse_empty_callable();

template <class Signature>
class callable;

template <class Result, class... Arguments>
class callable<Result(Arguments...)> {
    // A result that nobody would look at is refused: a `false` that was to mean a failure, or a
    // coroutine that has not begun.
    template <class Function>
    static constexpr bool answers = [] {
        if constexpr (std::is_void_v<Result> && std::is_invocable_v<Function&, Arguments...>) {
            return std::is_void_v<std::invoke_result_t<Function&, Arguments...>>;
        } else {
            return std::is_invocable_r_v<Result, Function&, Arguments...>;
        }
    }();
    template <class Function>
    static constexpr bool is_taken = !std::is_same_v<Function, callable> &&
                                     !std::is_member_pointer_v<Function> && answers<Function>;

public:
    callable() = default;
    callable(std::nullptr_t) noexcept {}
    // Empty if `function` compares equal to nullptr, as an empty std::function does.
    template <class Function>
    requires is_taken<Function> callable(Function function) {
        if constexpr (requires { static_cast<bool>(function == nullptr); }) {
            if (function == nullptr) return;
        }
        target_ = std::make_shared<target_of<Function>>(std::move(function));
    }

    explicit operator bool() const noexcept { return target_ != nullptr; }
    bool operator==(std::nullptr_t) const noexcept { return target_ == nullptr; }
    Result operator()(Arguments... arguments) const {
        if (!target_) refuse_empty_callable();
        return target_->call(std::forward<Arguments>(arguments)...);
    }

private:
    struct target {
        virtual ~target() = default;
        virtual Result call(Arguments&&... arguments) = 0;
    };
    template <class Function>
    struct target_of final : target {
        explicit target_of(Function given) : function(std::move(given)) {}
        Result call(Arguments&&... arguments) override {
            return static_cast<Result>(function(std::forward<Arguments>(arguments)...));
        }
        Function function;
    };

    std::shared_ptr<target> target_;
};

}  // namespace leasehold
