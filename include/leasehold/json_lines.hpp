#pragma once
// Writes each event of an observer as one JSON object per line.
//
//   settings.observer = std::make_shared<leasehold::json_lines>(std::clog);
//
//   {"time":"2026-11-02T09:15:01.123456Z","level":"debug","event":"granted","key":"invoice/7",
//    "number":5,"reason":"tried","seconds":0.001234}        (in one line)
//
// A line has `key`, `number`, `reason`, `seconds` (the event's `took`) and `detail` if the event
// has them; observer.hpp has the table of all events. The lines are valid JSON whatever is in a
// key: bytes that are not UTF-8 become U+FFFD.
//
// Promises: whole lines, in their order, and no exception. It does not wait for a pipe, a socket or
// a terminal that takes nothing just now (poll() says so): up to max_held_back bytes are held back,
// and written with the next event, or by flush(); events that come when that is full are dropped
// and counted. A full disk is treated in the same way. One thread at a time writes, and others
// leave their lines to it: no thread waits for another's. A reader that has gone raises no SIGPIPE.
// Does not promise: that a stream, or a file on a disk that stalls, does not block: a write to it
// takes as long as it takes. Nor that lines that are held back are written when the program dies.
//
// A stream that has failed is left so: later events are dropped until its owner clears it.
//
// Threads: safe. Nobody else may write to the stream meanwhile. The stream, or the descriptor, must
// outlive this object, which does not close it.
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <memory>
#include <string>

#include "leasehold/export.hpp"
#include "leasehold/observer.hpp"

namespace leasehold {

// One of the lines, without its end.
LEASEHOLD_EXPORT std::string json_of(const event& what, std::chrono::system_clock::time_point when);

class LEASEHOLD_EXPORT json_lines final : public observer {
public:
    static constexpr std::size_t max_held_back = 262'144;

    explicit json_lines(std::ostream& to);
    explicit json_lines(int descriptor);
    // Tries once more to write what is held back.
    ~json_lines() override;
    json_lines(const json_lines&) = delete;
    json_lines& operator=(const json_lines&) = delete;

    void on_event(const event& what) noexcept override;
    void flush() noexcept;
    // The number of lines that were dropped.
    std::uint64_t dropped() const noexcept;

private:
    class implementation;
    std::unique_ptr<implementation> inner_;
};

}  // namespace leasehold
