#pragma once
// The rows that go with shares (shares.hpp): one for each, which writers of a shared mutex count in
// and which is itself what is claimed by its version; and one for each transaction that committed
// under a proof, written in it.
//
// Threads: safe as long as the transactions are.
#include <cstdint>
#include <string>
#include <vector>

#include "leasehold/claim_mapping.hpp"
#include "leasehold/database.hpp"
#include "leasehold/versioned_claim.hpp"
#include "soak/history.hpp"

namespace leasehold::soak {

// Runs `sql` in a transaction of its own.
void run_alone(const database& db, const std::string& sql);

class share_tables {
public:
    explicit share_tables(std::string prefix) : prefix_(std::move(prefix)) {}

    void create(const database& db) const;
    void drop(const database& db) const;

    std::int64_t number(transaction& tx, int share) const;
    void set_number(transaction& tx, int share, std::int64_t number) const;
    void note_proof(
        transaction& tx,
        int share,
        std::int64_t token,
        int process,
        std::int64_t id,
        std::int64_t number
    ) const;
    // Rows are claimed with a term, since their claimer may be killed.
    versioned_mapping mapping() const;

    void add_content(transaction& tx, std::vector<record>& to) const;

private:
    std::string prefix_;
};

}  // namespace leasehold::soak
