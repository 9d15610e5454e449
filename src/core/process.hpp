#pragma once
// The process that an object was made in. fork() copies the object, but not the threads that work
// for it, and not the right to its connections: both processes would send on one socket. A mutex
// that another thread held at that moment stays locked in the copy. So the copy of an object of
// ours sends nothing, waits for nothing and is never destroyed.
#include <sys/types.h>
#include <unistd.h>

#include <memory>
#include <stop_token>
#include <utility>

namespace leasehold {

class home_process {
public:
    bool is_here() const noexcept { return number_ == ::getpid(); }
    pid_t number() const noexcept { return number_; }

private:
    pid_t number_ = ::getpid();
};

// Makes an object that is never deleted in a forked child.
template <class T, class... Arguments>
std::shared_ptr<T> make_at_home(Arguments&&... arguments) {
    const auto delete_at_home = [home = home_process{}](T* each) {
        if (home.is_here()) delete each;
    };
    return std::shared_ptr<T>{new T(std::forward<Arguments>(arguments)...), delete_at_home};
}

// The token of something that is over.
inline std::stop_token stopped_token() {
    std::stop_source stopped;
    stopped.request_stop();
    return stopped.get_token();
}

}  // namespace leasehold
