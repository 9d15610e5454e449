#pragma once
// Work that is to end when its lease is lost, or when its own program wants it to: one token for
// both.
//
//   leasehold::either_stop enough{lease.lost(), shutting_down.get_token()};
//   render(enough.token());
//
// Promises: requested as soon as one of the two is, on the thread that requests it; at once where
// one of them is already. Does not promise: to say which; ask them.
//
// Threads: safe. Its tokens may be kept for longer than it: they are not requested any more then.
#include <stop_token>
#include <utility>

#include "leasehold/export.hpp"

namespace leasehold {

class either_stop {
public:
    either_stop(std::stop_token one, std::stop_token other)
        : one_(std::move(one), passing_on{&source_}),
          other_(std::move(other), passing_on{&source_}) {}
    either_stop(const either_stop&) = delete;
    either_stop& operator=(const either_stop&) = delete;

    std::stop_token token() const noexcept { return source_.get_token(); }

private:
    // Whoever is told may destroy this.
    struct passing_on {
        std::stop_source* to;
        void operator()() const {
            std::stop_source source = *to;
            source.request_stop();
        }
    };

    std::stop_source source_;
    std::stop_callback<passing_on> one_, other_;
};

}  // namespace leasehold
