#pragma once
// Findings of one name, of which there may be many: keeps the first 20, and the last of these says
// how many more there are.
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "leasehold/doctor.hpp"

namespace leasehold {

class some_findings {
public:
    // `nouns` names the things that the findings are about: "queues".
    explicit some_findings(std::string nouns) : nouns_(std::move(nouns)) {}

    void add(finding one) {
        constexpr std::size_t max_kept = 20;
        if (kept_.size() < max_kept) {
            kept_.push_back(std::move(one));
        } else {
            ++others_;
        }
    }

    void move_to(std::vector<finding>& all) {
        if (others_ > 0) {
            kept_.back().what +=
                "; and " + std::to_string(others_) + " more " + nouns_ + " are like it";
        }
        for (finding& each : kept_) all.push_back(std::move(each));
    }

private:
    const std::string nouns_;
    std::vector<finding> kept_;
    std::size_t others_ = 0;
};

}  // namespace leasehold
