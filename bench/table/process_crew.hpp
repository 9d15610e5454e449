#pragma once
// Workers that are processes: this program again, each with one worker of one side.
//
// They speak by pipes, a line at a time. To a worker: first what it is, then for each round its
// start on the machine's clock, its length and its lead, in nanoseconds. From it: "ready", then for
// each round what it did, or "failed" and why.
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "bench/crew.hpp"
#include "bench/workload.hpp"

namespace leasehold::bench {

// Makes a side by its name, in this process and in a worker's.
using side_maker = std::function<
    std::unique_ptr<side>(const std::string& by, const workload& what, const place& where)>;

class process_crew final : public crew {
public:
    process_crew(
        std::unique_ptr<side> of, const std::string& by, const workload& what, const place& where
    );
    ~process_crew() override;

    void before_round() override { side_->before_round(); }
    tally run(const round_time& when, const round_marks& marks, const std::stop_token& stop)
        override;

private:
    class process;

    const std::unique_ptr<side> side_;
    std::vector<std::unique_ptr<process>> processes_;
};

// The main program of a worker.
int work_as_told(const side_maker& make);

}  // namespace leasehold::bench
