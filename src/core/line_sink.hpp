#pragma once
#include <cstddef>
#include <iosfwd>
#include <memory>
#include <string_view>

namespace leasehold {

// A destination of lines. Not safe: one thread at a time.
class line_sink {
public:
    virtual ~line_sink() = default;
    // Returns the number of bytes that it has taken; fewer than given if it takes no more at
    // present.
    virtual std::size_t write(std::string_view lines) = 0;
    // True if bytes that it did not take may be offered once more.
    virtual bool keeps() const noexcept = 0;
};

std::unique_ptr<line_sink> to_stream(std::ostream& stream);
std::unique_ptr<line_sink> to_descriptor(int number);
// To standard error, unless the process has closed it: the descriptor of that number may be a file
// or a connection then, which is closed on exec.
std::unique_ptr<line_sink> to_standard_error();

}  // namespace leasehold
