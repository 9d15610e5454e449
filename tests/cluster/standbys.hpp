#pragma once
// A primary of PostgreSQL's and its standbys, of tests/cluster/servers.
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "cluster/cluster.hpp"
#include "leasehold/observer.hpp"

namespace leasehold::testing {

// All warnings there were.
class heard_warnings final : public observer {
public:
    void on_event(const event& what) noexcept override;
    bool has(const std::string& part) const;

private:
    mutable std::mutex mutex_;
    std::vector<std::string> said_;
};

// Each test begins with a primary, whichever it is, that the others follow.
class standbys : public ::testing::Test {
protected:
    static constexpr std::chrono::seconds long_ttl{120};  // outlives a time without heartbeats

    void SetUp() override;
    void TearDown() override;

    std::size_t primary() const { return primary_; }
    std::size_t standby(std::size_t which = 0) const;
    void promote(std::size_t node);
    // Lets a killed node, or a primary of the past, follow the present primary.
    void let_follow(std::size_t node) const;
    static std::string number_of(std::size_t node) { return std::to_string(node + 1); }

    database open(std::chrono::milliseconds statement_timeout = std::chrono::seconds{2}) const;
    // The host that is asked first.
    database open_from(
        std::size_t first, std::chrono::milliseconds statement_timeout = std::chrono::seconds{2}
    ) const;
    // The first requests after a fail-over may meet connections that are lost.
    static bool eventually_well(const std::function<bool()>& holds);
    // Asks the node by its own port: 0 where it does not answer.
    std::int64_t integer(std::size_t node, const std::string& sql) const;
    std::int64_t port(std::size_t node) const { return integer(node, "SELECT inet_server_port()"); }
    // The number of processes that wait for a standby there.
    std::int64_t waits_for_standby(std::size_t node) const;

    const cluster cluster_;
    const std::shared_ptr<heard_warnings> warnings_ = std::make_shared<heard_warnings>();

private:
    std::size_t primary_ = 0;
};

}  // namespace leasehold::testing
