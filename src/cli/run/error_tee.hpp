#pragma once
// A process of its own passes on a command's standard error, and keeps the end of it: as long as
// any process that the command has started may write there, also after our own end. A reader that
// is stalled stalls that process and the command, as it would without it.
//
// Threads: made and used by the main thread only.

#include <cstddef>
#include <string>
#include <string_view>

#include "cli/run/events.hpp"

namespace leasehold::cli {

// Cuts `text` to its end, and leaves nothing of a character that begins before that.
void cut_front(std::string& text, std::size_t max_bytes);

// Each line as a terminal shows it in the end, as of a progress bar: without the part that a
// carriage return within the line has begun to write over.
std::string without_overwritten(std::string_view text);

class error_tee {
public:
    static constexpr std::size_t max_kept = 1000;

    error_tee();
    error_tee(const error_tee&) = delete;
    error_tee& operator=(const error_tee&) = delete;

    // The standard error for the command.
    int writing_end() const noexcept { return writing_.number(); }
    // Called when the command runs: closes our copy, which would hide the end of its output.
    void close_writing_end() noexcept { writing_.close(); }
    // Called when the command has ended: the end of its output, in whole characters. Empty if the
    // process that copies does not answer.
    std::string take_end();

private:
    class copier;

    descriptor writing_;
    descriptor asks_;
};

}  // namespace leasehold::cli
