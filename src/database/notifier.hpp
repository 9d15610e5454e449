#pragma once
// Sends and hears notifications: that it is a waiter's turn, or that a queue has new jobs.
//
// | a subscriber        | its id in a datagram | its id in the database's notification | has      |
// |---------------------|----------------------|---------------------------------------|----------|
// | a waiting call      | its owner id         | the same; none on SQLite: all waiters | wait     |
// |                     |                      |                                       | registry |
// | a queue of a worker | that of its row      | job_notifier::id_of() the queue       | job      |
// |                     |                      |                                       | listener |
//
// A subscriber's row has the address of its notifier, and a sender reads it there: so a
// notification wakes one process, however many wait.
//
// | in the row                  | who can send                                                   |
// |-----------------------------|----------------------------------------------------------------|
// | unix:BOOT.NETWORK:NAME      | processes of this boot of this machine, in this namespace of   |
// |                             | its network: NAME is an abstract Unix socket, 16 random bytes  |
// | udp:HOST:PORT               | other machines, where both have a database_settings::          |
// |                             | wakeup_address                                                 |
// | nothing                     | nobody: no socket could be opened, or hints are off            |
//
// A process that finds no address it can use lets the database notify the subscriber, if it can. A
// datagram is the 16 bytes of the subscriber's id, and a hint: a datagram that is forged, lost, or
// late, or sent twice, costs a look at most. Nobody answers it.
//
// The sockets are closed on exec. In the child of a fork there is no address, since the thread that
// would receive the datagram is the parent's.
//
// Threads: address(), wake() and send(), any; the others, one.
#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/thread_mutex.hpp"
#include "leasehold/clock.hpp"
#include "leasehold/connection.hpp"
#include "leasehold/identity.hpp"

namespace leasehold {

// A descriptor that is closed with its owner; -1: none.
class owned_descriptor {
public:
    explicit owned_descriptor(int number = -1) noexcept : number_(number) {}
    ~owned_descriptor();
    owned_descriptor(owned_descriptor&& other) noexcept;
    owned_descriptor& operator=(owned_descriptor&& other) noexcept;
    int number() const noexcept { return number_; }
    bool is_open() const noexcept { return number_ >= 0; }

private:
    int number_;
};

// Throws invalid_argument unless it is empty, HOST or HOST:PORT, with a number for an address that
// others can send to: 192.0.2.7, 192.0.2.7:7400, 2001:db8::7 or [2001:db8::7]:7400.
void require_wakeup_address(const std::string& given);
// The host of such an address: any port of it.
std::string host_of_wakeup_address(const std::string& given);

class notifier {
public:
    struct heard {
        std::optional<owner_id> whom;  // nullopt: any subscriber
        bool is_datagram = false;
    };

    // `wakeup_address`: of database_settings.
    explicit notifier(std::string wakeup_address) : wakeup_address_(std::move(wakeup_address)) {}

    // The address for a subscriber's row; empty if there is none. Opens the sockets once:
    // `complaint` says why one could not be opened, the first time.
    std::string address(std::string& complaint);

    // True when it can be listened to: from the first address() on.
    bool is_open() const noexcept { return awake_.is_open(); }
    // The notifications that have come. If there are none, waits for some, for wake() or until the
    // time has come, and may return before. `from`: a connection that listens, or null. Throws the
    // error of that connection.
    std::vector<heard> hear(connection* from, local_clock::time_point until);
    // Waits until there is something for received(), `other` can be read, wake() is called, or the
    // time has come. `other`: -1 for no descriptor.
    void listen_until(local_clock::time_point until, int other) noexcept;
    void wake() noexcept;
    // The owners to whom others have sent since: from at most 64 datagrams, so that a flood keeps
    // nobody from other work. A datagram that is no owner id is dropped.
    std::vector<owner_id> received();

    // False if the datagram cannot have arrived: notify in another way. Never waits.
    bool send(std::string_view address, const owner_id& whom) noexcept;

private:
    void open(std::string& complaint) LEASEHOLD_REQUIRES(mutex_);
    void open_local(std::string& complaint) LEASEHOLD_REQUIRES(mutex_);
    void open_far(std::string& complaint) LEASEHOLD_REQUIRES(mutex_);
    bool send_here(std::string_view place_and_name, const owner_id& whom);
    bool send_far(std::string_view host_and_port, const owner_id& whom);

    const std::string wakeup_address_;
    thread_mutex mutex_;
    pid_t opened_by_ LEASEHOLD_GUARDED_BY(mutex_) = 0;  // nobody yet
    std::string address_ LEASEHOLD_GUARDED_BY(mutex_);
    // The boot and network of the sending socket; empty: not opened yet, or unknown.
    std::string sends_in_ LEASEHOLD_GUARDED_BY(mutex_);
    bool can_send_here_ LEASEHOLD_GUARDED_BY(mutex_) = true;
    owned_descriptor sending_ LEASEHOLD_GUARDED_BY(mutex_);
    // Opened before anybody waits for them, and never changed after that.
    owned_descriptor local_, far_, awake_;
};

}  // namespace leasehold
