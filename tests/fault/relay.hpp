#pragma once
// A TCP relay between clients and a server, which can fail as networks do:
//
// | after …           | connections there are            | new ones                           |
// |-------------------|----------------------------------|------------------------------------|
// | strand()          | broken for the client; the server| work                               |
// |                   | goes on with what it was sent    |                                    |
// | swallow()         | what is sent goes nowhere, either| are accepted, and answer nothing   |
// |                   | way, and nobody is told          |                                    |
// | swallow_old()     | the same                         | work                               |
// | cut_handshakes()  | work                             | are cut off within the handshake   |
// | cut()             | broken for both sides            | are accepted, and closed at once   |
// | mend()            | what is swallowed is broken      | work                               |
//
// With a delay, all that is sent arrives so much later, either way.
#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace leasehold::testing {

class relay {
public:
    relay(std::string host, int port);  // of the server, by address
    ~relay();
    relay(const relay&) = delete;
    relay& operator=(const relay&) = delete;

    int port() const { return port_; }
    int accepted() const { return accepted_; }  // connections, from the beginning

    // Breaks the connections there are now; new ones work. Returns when it is done.
    void strand();

    // Until mend(). Return when it is so.
    void cut();
    void swallow();
    void swallow_old();
    void mend();
    std::int64_t bytes_swallowed() const { return bytes_swallowed_; }

    // Connections there are stay with the server they have, as behind a proxy that lets sessions
    // live; new ones go to this one.
    void lead_to(int server_port) { server_port_ = server_port; }

    // Delays all bytes sent from now on.
    void delay_by(std::chrono::milliseconds length) { delay_ = length; }

    // For MySQL and MariaDB: from now on a client that connects gets the server's greeting, with
    // TLS on offer, and is cut off as soon as it has asked for it. False: no longer.
    void cut_handshakes(bool from_now_on) { cuts_handshakes_ = from_now_on; }
    int handshakes_cut() const { return handshakes_cut_; }

private:
    using clock = std::chrono::steady_clock;
    struct parcel {
        clock::time_point due;
        bool is_for_server;
        std::string bytes;  // none: the stream has ended
    };
    struct pair {
        int client = -1;  // -1: gone, or stranded
        int server = -1;
        bool is_swallowed = false;
        bool has_ended = false;  // for one side; the other has not been told yet
        // Bytes wait here while that side has no room. The other side is not read meanwhile.
        std::string unsent_to_client{}, unsent_to_server{};
        std::deque<parcel> delayed;
    };
    enum class request { none, strand, swallow, cut, mend };

    void serve();
    void ask(request what);
    void obey();
    int wait_ms() const;
    bool deliver_due(pair& which);
    void put_off(pair& which, bool is_for_server);
    bool pass(pair& which, bool client_speaks, bool server_speaks);
    void swallow_from(int& speaker);
    void accept_one();
    void cut_handshake(const pair& which);
    static bool send_all(int to, std::string_view bytes);
    static bool flush(int to, std::string& unsent);
    static bool forward(int from, int to, std::string& unsent);
    void close_pair(pair& which);

    std::string host_;
    std::atomic<int> server_port_;
    int listener_ = -1;
    int port_ = 0;
    std::vector<pair> pairs_;  // of the thread alone
    std::atomic<bool> ends_ = false;
    std::atomic<request> asked_ = request::none;
    std::atomic<bool> swallows_new_ = false;
    std::atomic<bool> cuts_new_ = false;
    std::atomic<std::chrono::milliseconds> delay_{};
    std::atomic<std::int64_t> bytes_swallowed_ = 0;
    std::atomic<bool> cuts_handshakes_ = false;
    std::atomic<int> handshakes_cut_ = 0;
    std::atomic<int> accepted_ = 0;
    std::thread thread_;
};

// Parts of a server's URL, scheme://user:password@host:port/database.
std::string host_of(const std::string& url);
int port_of(const std::string& url);

}  // namespace leasehold::testing
