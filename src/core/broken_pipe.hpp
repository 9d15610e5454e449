#pragma once
// Keeps the process's own setting for SIGPIPE: a call that writes to a closed connection learns of
// that by the error.
//
// Both client libraries of MySQL set it to ignored, for the whole process and for all it will
// start, when they are first used (mysql_server_init). If the setting is restored, their writes
// raise it: libmariadb sends plain text with MSG_NOSIGNAL but TLS through OpenSSL's write(2),
// libmysqlclient does neither.
#include <csignal>

#include "leasehold/export.hpp"

namespace leasehold {

// Keeps what the process does about SIGPIPE as it was when this was made.
class kept_disposition {
public:
    kept_disposition() noexcept { sigaction(SIGPIPE, nullptr, &before_); }
    ~kept_disposition() { sigaction(SIGPIPE, &before_, nullptr); }
    kept_disposition(const kept_disposition&) = delete;
    kept_disposition& operator=(const kept_disposition&) = delete;

private:
    struct sigaction before_ {};
};

// Guards calls that may write to a server, or a reader, that has closed its end. The SIGPIPE that a
// write raises is its thread's own: the guard holds it back, and takes it away when the calls are
// done.
class LEASEHOLD_EXPORT broken_pipe_guard {
public:
    broken_pipe_guard() noexcept;
    ~broken_pipe_guard();
    broken_pipe_guard(const broken_pipe_guard&) = delete;
    broken_pipe_guard& operator=(const broken_pipe_guard&) = delete;

private:
    bool was_pending_ = false;  // then it is somebody else's, and stays pending
    bool was_blocked_ = false;
};

}  // namespace leasehold
