#pragma once
// A TCP relay between clients and a server that can break every connection on the clients' side
// only: the server goes on with what it was sent, and its answers go nowhere. That is what a
// network failure looks like, and no server can tell it from a slow client.
#include <atomic>
#include <string>
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

    // Breaks the connections there are now; new ones work. Returns when it is done.
    void strand();

    // Of MySQL and MariaDB: from now on who connects gets the server's greeting, with TLS on offer,
    // and is cut off as soon as it has asked for it. False: no longer.
    void cut_handshakes(bool from_now_on) { cuts_handshakes_ = from_now_on; }
    int handshakes_cut() const { return handshakes_cut_; }

private:
    struct pair {
        int client = -1;  // -1: stranded
        int server = -1;
    };

    void serve();
    void accept_one();
    void cut_handshake(const pair& which);
    bool forward(int from, int to);
    void close_pair(pair& which);

    std::string host_;
    int server_port_;
    int listener_ = -1;
    int port_ = 0;
    std::vector<pair> pairs_;  // of the thread alone
    std::atomic<bool> ends_ = false;
    std::atomic<bool> must_strand_ = false;
    std::atomic<bool> cuts_handshakes_ = false;
    std::atomic<int> handshakes_cut_ = 0;
    std::thread thread_;
};

// Of a server's URL, scheme://user:password@host:port/database.
std::string host_of(const std::string& url);
int port_of(const std::string& url);

}  // namespace leasehold::testing
