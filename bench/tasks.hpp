#pragma once
// A table of tasks that one side claims from: filled before each round.
//
// Threads: one at a time, but for finish_locked and the texts, which are safe.
#include <cstdint>
#include <string>
#include <vector>

#include "bench/workload.hpp"
#include "leasehold/claim_mapping.hpp"
#include "leasehold/database.hpp"

namespace leasehold::bench {

class task_table {
public:
    // `whose` names the side: "leasehold", "floor".
    task_table(const place& where, std::string whose, int batch);

    void make();
    void fill();

    qualified_name name() const;
    // A statement of <engine>.sql.
    std::string text(std::string_view statement, std::size_t ids = 0) const;
    // Ends tasks that `tx` has locked.
    void finish_locked(transaction& tx, const std::vector<std::int64_t>& ids) const;
    // The further values of a statement: the ids one by one, or on PostgreSQL as an array.
    parameters with_ids(parameters before, const std::vector<std::int64_t>& ids) const;
    engine which() const noexcept { return engine_; }

private:
    database database_;
    const table_names names_;
    const std::string whose_;
    const std::int64_t rows_;
    const engine engine_;
};

}  // namespace leasehold::bench
