#pragma once
// A connection that fails when it is told to, in each of the ways a network and a server can.
//
//   const auto plan = std::make_shared<fault_plan>();
//   database db = model.open({}, plan->wrapper());
//   plan->fail_call(3, fault::lost_after_it);
//
// It wraps any engine's connection and knows none. A call is one execute, execute_script, begin or
// commit, and each attempt to connect, whose statement is then "connect".
//
// Threads: a plan is safe; it is shared by all connections it wraps.
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "leasehold/connection.hpp"
#include "leasehold/database.hpp"

namespace leasehold::testing {

enum class fault {
    lost_before_sending,  // the connection breaks; it is known that nothing was done
    lost_on_the_way,      // nothing was done, but nobody here can know that
    lost_after_it,        // it was carried out, and the answer was lost
    carried_out_late,     // timed out here; the server carries it out at carry_out_the_late()
    answered_late,        // carried out, and answered at let_go(); bounded as `hangs` is
    refused,              // a deadlock: proved not done, and the connection goes on
    read_only,            // not done either: the server takes no changes just now
    hangs,                // no answer before let_go(); at the latest a second after the time-out,
                          // as connection.hpp allows, it is given up as lost on the way
};

// Every kind that comes to an end by itself, for tests that go through all of them.
inline constexpr fault all_faults[] = {
    fault::lost_before_sending,
    fault::lost_on_the_way,
    fault::lost_after_it,
    fault::carried_out_late,
    fault::refused,
};
const char* name_of(fault how) noexcept;

class fault_plan : public std::enable_shared_from_this<fault_plan> {
public:
    // Decides for each call, of which `number` counts from 1. Called without any lock held, and by
    // a heartbeat that a session left behind at its end even after the test's locals are gone.
    using chooser = std::function<std::optional<fault>(std::string_view statement, int number)>;

    // Each of these replaces what was planned before and counts anew.
    void fail_when(chooser decide);
    void fail_call(int number, fault how);
    void fail_every(const std::string& part_of_statement, fault how);
    // The first call with this in its statement fails in the first way, the next in the second, …
    void fail_in_turn(const std::string& part_of_statement, std::vector<fault> how);
    void heal();

    int calls() const;
    int strikes() const;  // calls that failed since the last plan
    // Waits for so many strikes; false when `timeout` ran out first.
    bool wait_for_strikes(int number, std::chrono::milliseconds timeout);

    void let_go();              // hanging calls, now and from now on, are carried out
    void carry_out_the_late();  // on the connections they were sent over

    std::function<connector(connector)> wrapper();
    std::unique_ptr<connection> wrap(std::unique_ptr<connection> inside);

private:
    friend class faulty_connection;

    std::optional<fault> next(std::string_view statement);
    // Hangs; true where it was let go.
    bool hang(std::chrono::milliseconds limit);
    void keep_for_later(std::function<void()> late);
    void plan(chooser decide);

    mutable std::mutex mutex_;
    std::condition_variable_any changed_;
    chooser decide_;
    int calls_ = 0;
    int strikes_ = 0;
    bool is_let_go_ = false;
    std::vector<std::function<void()>> late_;
};

}  // namespace leasehold::testing
