#include "bench/table/plan.hpp"

namespace leasehold::bench {
namespace {

class list {
public:
    explicit list(bool is_quick) : is_quick_(is_quick), round_ms_(is_quick ? 200 : 1000) {}

    void add(const workload& what) { steps_.push_back({what, {"library"}, round_ms_}); }
    void add(const workload& what, int round_ms) {
        steps_.push_back({what, {"library"}, round_ms});
    }
    void add_with_quiet(const workload& what) { steps_.push_back({what, {"quiet"}, round_ms_}); }
    void add_alone(const workload& what, int round_ms) { steps_.push_back({what, {}, round_ms}); }
    // Our own connection's cost beyond the client library: measured on the smallest.
    void add_with_connection(const workload& what) {
        steps_.push_back({what, {"library", "connection"}, round_ms_});
    }
    void add_sizes(const char* what, const std::vector<int>& sizes, bool are_processes, int least) {
        for (const int each : sizes) {
            const int round_ms = round_ms_ > least ? round_ms_ : least;
            steps_.push_back({{what, each, are_processes}, {"library"}, round_ms});
        }
    }
    bool is_quick() const noexcept { return is_quick_; }
    std::vector<step> take() { return std::move(steps_); }

private:
    const bool is_quick_;
    const int round_ms_;
    std::vector<step> steps_;
};

}  // namespace

std::vector<step> plan_of(bool is_quick) {
    list all{is_quick};
    all.add_with_connection({"round-trip"});
    all.add_with_connection({"commit"});
    all.add_with_connection({"pair"});
    all.add_sizes("pair", is_quick ? std::vector{16} : std::vector{16, 64}, false, 0);
    all.add_sizes("pair", is_quick ? std::vector{16} : std::vector{1, 16, 64}, true, 0);
    all.add({"refused"});
    all.add_with_quiet({"release", 5});
    // Hundreds of hops at least, also where one takes milliseconds.
    all.add_sizes("hop", {2, 8, 64}, false, 500);
    all.add_sizes("hop", {2, 8, 64}, true, 500);
    for (const char* what : {"row-claim", "versioned-claim"}) {
        for (const int batch : {1, 10, 100}) all.add({what, 4, false, batch});
    }
    for (const int batch : {1, 10, 100, 1000}) all.add({"job-drain", 1, false, batch});
    all.add({"job-enqueue", 1, false, is_quick ? 10'000 : 100'000});
    all.add({"job-start"});
    for (const int held : is_quick ? std::vector{1, 1000} : std::vector{1, 1000, 10'000}) {
        all.add_alone({"heartbeat", 1, false, 1, held}, 1000);
    }
    if (!is_quick) all.add_alone({"sessions", 1000}, 10'000);
    all.add({"tool"}, 1000);
    return all.take();
}

}  // namespace leasehold::bench
