#pragma once
// These must be true of things that several may have at once, and of rows claimed by their version.
//
// S1  Nobody believes to have more than there is: no writer beside a reader or another writer,
//     never more permits than the semaphore has, one run of a task at a time. And nobody proves it:
//     from the moment a proof has passed until its commit is sent, where it commits.
// S2  Tokens are unique and grow, across readers and writers.
// S3  A write under proof is there exactly once, and a refused one is not; nothing was accepted
//     from a holder after a grant that excludes it.
// S4  Each writer of a shared mutex adds one to the last one's number, in the order of tokens, and
//     a reader sees all that was written before its grant and nothing after it.
// S5  A tick of a task is finished once at most, and ticks follow each other.
// S6  The version of a claimed row counts the commits that changed it; nobody else changes what a
//     claim saw before its own change; no change is lost.
// S7  Each of them, and each kind of lock, has got on: a run that did nothing shows nothing.
//
// Threads: pure functions.
#include "soak/facts.hpp"
#include "soak/finding.hpp"
#include "soak/shares.hpp"

namespace leasehold::soak {

findings check_weights(const all_shares& all);
findings check_share_tokens(const all_shares& all);
findings check_proofs(const all_shares& all);
findings check_readers(const all_shares& all);
findings check_ticks(const all_shares& all);
findings check_versions(const all_shares& all);

// Commits under proof, by kind: S7 asks for them, and a run prints them.
using progress = std::map<std::string, std::int64_t>;
progress measure_progress(const facts& all, const all_shares& shares);
findings check_progress(const progress& made, std::int64_t least);

// The greatest weight that was proved at one time; of a shared mutex by readers.
std::int64_t most_at_once(const share_facts& of);

}  // namespace leasehold::soak
