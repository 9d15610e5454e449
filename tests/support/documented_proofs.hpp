#pragma once
// The statements of docs/proofs-from-other-languages.md, read from the page, so that the tests run
// what the page shows.
#include <string>
#include <vector>

#include "leasehold/engine.hpp"

namespace leasehold::testing {

struct documented_proofs {
    std::string lock;                 // its parameters in this order: key, owner, token
    std::string job;                  // job, token
    std::vector<std::string> grants;  // "GRANT … ON …": what PostgreSQL needs
};

// With the placeholders of the engine, and with tables of this prefix.
documented_proofs read_documented_proofs(engine which, const std::string& prefix);

}  // namespace leasehold::testing
