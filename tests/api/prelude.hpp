#pragma once
// The objects that the programs of refused.txt use.
#include <chrono>
#include <cstdlib>
#include <span>
#include <stop_token>
#include <vector>

#include "leasehold/leasehold.hpp"
#include "leasehold/pending_lease.hpp"

using namespace std::chrono_literals;
using namespace leasehold;

struct place {
    database& db;
    session& within;
    mutex& closing;
    multi_lock& both;
    semaphore& seats;
    barrier& step;
    latch& loaded;
    leader_election& election;
    once& nightly;
    quorum_lock& most;
    detached_lease& given_up;
    versioned_claim& tickets;
    std::vector<versioned_row>& batch;
    row_claim& rows;
    std::stop_token quit;
};

inline void use(const lease&) {}
inline void use(transaction_ref) {}
inline void use(std::stop_token) {}
