#pragma once
// Our own messages on standard error, while we keep a lease: a slow reader, or a terminal that
// Ctrl-S has stopped, must not keep the lease from being renewed.
//
//   const unstalled_errors unstalled{is_json};  // for std::cerr, until the end of this scope
//
// A message that standard error does not take within 200 ms is lost, and so are later ones for as
// long as standard error takes nothing. When it takes text again, a line says how many lines are
// missing. On a full disk messages are lost.
//
// Threads: made and destroyed while no other thread writes; messages come from any.
#include <cstddef>
#include <mutex>
#include <streambuf>
#include <string>
#include <string_view>

namespace leasehold::cli {

class unstalled_errors final : private std::streambuf {
public:
    explicit unstalled_errors(bool is_json);
    ~unstalled_errors() override;
    unstalled_errors(const unstalled_errors&) = delete;
    unstalled_errors& operator=(const unstalled_errors&) = delete;

private:
    int_type overflow(int_type byte) override;
    std::streamsize xsputn(const char* from, std::streamsize count) override;
    bool write_whole(std::string_view words) const;
    std::string gap() const;

    const bool is_json_;
    std::streambuf* const before_;
    std::mutex mutex_;
    bool is_stalled_ = false;
    std::ptrdiff_t missing_ = 0;  // lines
};

}  // namespace leasehold::cli
