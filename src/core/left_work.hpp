#pragma once
// A connection that was given up, because no answer came in time, may still have work at its
// server: a statement that goes on, or a session that has not noticed that its client is gone. That
// work takes one of the server's connections until it ends. A pool that opens a new connection for
// each one that it gives up fills the server, and shuts everybody out.
#include <memory>

#include "leasehold/clock.hpp"

namespace leasehold {

class connection;

class left_work {
public:
    virtual ~left_work() = default;

    // The time by which the server has ended it by itself; the end of time if the server has no
    // such limit.
    virtual local_clock::time_point limit() const noexcept = 0;
    // Ends it over another connection, if that has the right to. True: it is over, or is not on the
    // server that this connection leads to. Throws what the connection does.
    virtual bool has_ended(connection& by) = 0;
};

// A connection that a driver makes may be one of these.
class leaves_work {
public:
    // Null if the connection was not given up.
    virtual std::unique_ptr<left_work> left() const = 0;

protected:
    ~leaves_work() = default;
};

}  // namespace leasehold
