#pragma once
// How a floor speaks to its database: one connection, and statements that are prepared once. Here
// through leasehold's own connection; in tests/bench through each client library itself.
//
// Threads: one.
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "bench/workload.hpp"
#include "leasehold/engine.hpp"
#include "leasehold/value.hpp"

namespace leasehold::bench {

class hand {
public:
    // Of the rows, the first column, where that is a number; all else is read and dropped.
    struct answer {
        std::int64_t rows = 0;  // answered, or changed where it answers with none
        std::vector<std::int64_t> ids{};
    };

    hand() = default;
    hand(const hand&) = delete;
    hand& operator=(const hand&) = delete;
    virtual ~hand() = default;

    virtual engine which() const = 0;
    virtual answer execute(const std::string& text, const parameters& values) = 0;
    virtual void begin() = 0;
    virtual void commit() = 0;
};

using hand_maker = std::function<std::unique_ptr<hand>(const place& where)>;

std::unique_ptr<hand> make_hand(const place& where);

// What one would write by hand. `whose`: of several floors, which, for tables of its own.
std::unique_ptr<side> make_floor(
    const workload& what,
    const place& where,
    const std::string& whose = "floor",
    const hand_maker& by = &make_hand
);

}  // namespace leasehold::bench
