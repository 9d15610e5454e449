#pragma once
#include <gtest/gtest.h>

#include <exception>
#include <thread>
#include <utility>

namespace leasehold::testing {

// A std::jthread in which an exception fails the test that runs, by its text, as it would outside
// of a thread; in a std::jthread it ends the program.
class thread : public std::jthread {
public:
    thread() = default;
    template <class Body, class... Arguments>
    explicit thread(Body body, Arguments... arguments)
        : std::jthread([body = std::move(body), ... given = std::move(arguments)]() mutable {
              try {
                  body(given...);
              } catch (const std::exception& failure) {
                  ADD_FAILURE() << "in a thread: " << failure.what();
              }
          }) {}
};

}  // namespace leasehold::testing
