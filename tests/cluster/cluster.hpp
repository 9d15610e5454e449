#pragma once
// The nodes of the cluster that tests/cluster/servers has started, as its environment names them.
#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "leasehold/database.hpp"
#include "leasehold/error.hpp"

namespace leasehold::testing {

class cluster {
public:
    // Throws where there is none: these tests are not skipped. Its tables, under a prefix of their
    // own, are there on every node, and go with it.
    cluster();
    ~cluster();
    cluster(const cluster&) = delete;
    cluster& operator=(const cluster&) = delete;

    std::size_t size() const noexcept { return urls_.size(); }
    // A handle of its own each time: nodes are counted from 0.
    database open(std::size_t node, database_settings settings = {}) const;
    // Opens all nodes, which are asked in their order from `first` on: the first that takes writes.
    database open_all(database_settings settings = {}, std::size_t first = 0) const;
    // One handle for all of them, asked in this order for the one that takes writes.
    database open_any(const std::vector<std::size_t>& order, database_settings settings = {}) const;
    // Opens the server at an address like "127.0.0.1:5433".
    database open_at(const std::string& host, database_settings settings = {}) const;
    const std::string& prefix() const noexcept { return prefix_; }
    // A verb of tests/cluster/servers; throws where it fails.
    void control(std::size_t node, const std::string& verb) const;

    // A Galera cluster may stand still for as long as a node's innodb_lock_wait_timeout, because of
    // a defect of the server's: docs/engine-facts.md, "BF lock wait long". The pause is no failure
    // of the program that runs on the cluster; a pause without end is one.
    static bool is_silence(const error& failure);
    // Does it again while it meets silence, for a limited time.
    void despite_silence(const std::function<void()>& work) const;
    // Starts and ends a session at each node.
    void wait_until_it_answers() const;
    // Writes `why` and the state of each node to stderr, for the reader of the log.
    void tell_what_nodes_do(const std::string& why) const;

private:
    const std::string url_;
    std::vector<std::string> urls_;
    std::string control_;
    std::string prefix_;
};

// A node that takes part and applies nothing of what others commit, until the end of this.
class node_behind {
public:
    node_behind(const cluster& of, std::size_t node) : of_(of), node_(node) {
        of_.control(node_, "hold");
    }
    ~node_behind() { let_go(); }
    node_behind(const node_behind&) = delete;
    node_behind& operator=(const node_behind&) = delete;
    void let_go();

private:
    const cluster& of_;
    std::size_t node_;
    bool is_held_ = true;
};

}  // namespace leasehold::testing
