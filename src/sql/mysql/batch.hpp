#pragma once
// Upkeep of many rows in packets each of which is a transaction of its own, so that no row stays
// locked between two round trips, where a paused process would keep others from their keys.
#include "sql/mysql/dialect.hpp"

namespace leasehold::mysql_dialect {

// The statements of one packet add the number of their changes to the variable @leasehold_count;
// they may use further variables.
class batch {
public:
    void add(const statement& what, const parameters& values = {}) { packet_.add(what, values); }
    // Begins, carries out and commits all of it. Returns @leasehold_count.
    std::int64_t send(connection& on) const {
        packet all = packet_;
        all.add("COMMIT").add("SELECT @leasehold_count");
        return only_integer(despite_deadlocks([&] { return all.send(on); }));
    }

private:
    packet packet_ = packet{}.add("SELECT 0 INTO @leasehold_count");
};

}  // namespace leasehold::mysql_dialect
