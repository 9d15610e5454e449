#pragma once
// Time that a test moves, instead of waiting for it.
//
//   const test_time time;                                  // or a member of the fixture
//   ASSERT_TRUE(eventually([&] { return !one.is_live(); }));  // after 2 s, and at once
//
// While there is one, local_clock is the machine's clock and what was added to it. The thread that
// made it adds: whenever it waits, in the library or by eventually(), and all others that have ever
// waited do so too, time goes on to the end of the wait that ends first. So each thread finds the
// time it has asked for, in the order in which it would come, however late the machine is; and what
// a test sees are the library's own decisions, by the clock that it reads.
//
// Threads: safe; one at a time.
#include <chrono>

namespace leasehold::testing {

class test_time {
public:
    test_time();
    ~test_time();
    test_time(const test_time&) = delete;
    test_time& operator=(const test_time&) = delete;

    // True when this thread moves time.
    static bool is_moved_here();
    // Moves time at once, as after a suspend, whatever would have happened meanwhile.
    static void advance(std::chrono::nanoseconds by);
};

}  // namespace leasehold::testing
