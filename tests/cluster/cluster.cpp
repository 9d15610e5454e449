#include "cluster/cluster.hpp"

#include <cstdio>
#include <cstdlib>
#include <sstream>
#include <stdexcept>
#include <utility>

#include "leasehold/migrate.hpp"
#include "leasehold/open.hpp"
#include "leasehold/session.hpp"
#include "support/required.hpp"

namespace leasehold::testing {
namespace {

std::string required(const char* name) {
    const char* const found = std::getenv(name);
    if (found != nullptr && *found != '\0') return found;
    throw std::runtime_error(
        std::string{name} + " is not set: run by tests/cluster/servers run KIND -- COMMAND"
    );
}

}  // namespace

cluster::cluster()
    : url_(required("LEASEHOLD_TEST_CLUSTER_URL")),
      control_(required("LEASEHOLD_TEST_CLUSTER_CONTROL")),
      prefix_(fresh_prefix()) {
    std::istringstream all{required("LEASEHOLD_TEST_CLUSTER_URLS")};
    for (std::string each; all >> each;) urls_.push_back(each);
    if (urls_.size() < 2) throw std::runtime_error("a cluster has two nodes or more");
    bool was_cut_off = false;
    despite_silence([&] { migrate(open_all(), {.resume = std::exchange(was_cut_off, true)}); });
}

cluster::~cluster() {
    try {
        despite_silence([&] { migrate_down(open_all(), 0); });
    } catch (const std::exception& failure) {
        std::fprintf(stderr, "the tables %s* are left: %s\n", prefix_.c_str(), failure.what());
    }
}

database cluster::open(std::size_t node, database_settings settings) const {
    settings.names.prefix = prefix_;
    return leasehold::open(urls_.at(node), std::move(settings));
}

database cluster::open_all(database_settings settings, std::size_t first) const {
    std::vector<std::size_t> order;
    for (std::size_t each = 0; each < urls_.size(); ++each) {
        order.push_back((first + each) % urls_.size());
    }
    return open_any(order, std::move(settings));
}

database cluster::open_any(const std::vector<std::size_t>& order, database_settings settings)
    const {
    settings.names.prefix = prefix_;
    std::string hosts;
    for (const std::size_t node : order) {
        const std::string& url = urls_.at(node);
        const auto from = url.find('@') + 1;
        hosts += (hosts.empty() ? "" : ",") + url.substr(from, url.find('/', from) - from);
    }
    const auto place = url_.find('@') + 1;
    std::string url = url_;
    url.replace(place, url.find('/', place) - place, hosts);
    return leasehold::open(url, std::move(settings));
}

database cluster::open_at(const std::string& host, database_settings settings) const {
    settings.names.prefix = prefix_;
    std::string url = urls_.at(0);
    const auto place = url.find('@') + 1;
    url.replace(place, url.find('/', place) - place, host);
    return leasehold::open(url, std::move(settings));
}

void cluster::control(std::size_t node, const std::string& verb) const {
    const std::string command = control_ + " " + std::to_string(node + 1) + " " + verb;
    if (std::system(command.c_str()) == 0) return;
    throw std::runtime_error("it failed: " + command);
}

bool cluster::is_silence(const error& failure) {
    return failure.code() == errc::timed_out;
}

void cluster::despite_silence(const std::function<void()>& work) const {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds{90};
    for (bool is_told = false;; is_told = true) {
        try {
            return work();
        } catch (const error& failure) {
            // A wait for a lock that ends, or for what others committed, is transient.
            const bool may_pass = is_silence(failure) || failure.code() == errc::transient;
            if (!may_pass || std::chrono::steady_clock::now() >= end) throw;
            if (!is_told) tell_what_nodes_do(failure.what());
        }
    }
}

void cluster::wait_until_it_answers() const {
    for (std::size_t node = 0; node < size(); ++node) {
        despite_silence([&] { (void)session{open(node), {.name = "asks"}}; });
    }
}

void cluster::tell_what_nodes_do(const std::string& why) const {
    const std::string question =
        url_.starts_with("postgres")
            ? "SELECT * FROM pg_stat_activity"
            : "SHOW FULL PROCESSLIST; SELECT * FROM information_schema.innodb_trx";
    std::fprintf(stderr, "the cluster does not answer: %s\n", why.c_str());
    for (std::size_t node = 0; node < size(); ++node) {
        std::fprintf(stderr, "node %zu:\n", node + 1);
        try {
            control(node, "sql '" + question + "' >&2");
        } catch (const std::exception& failure) {
            std::fprintf(stderr, "%s\n", failure.what());
        }
    }
}

void node_behind::let_go() {
    if (!is_held_) return;
    is_held_ = false;
    of_.control(node_, "let-go");
}

}  // namespace leasehold::testing
