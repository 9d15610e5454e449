#pragma once
// The place of a measurement: tables of its own in the user's database, with a random prefix, or on
// SQLite a file of its own beside the user's. They go with this object.
//
// Errors: those of the database, as from migrate(). Threads: one.
#include <string>
#include <vector>

#include "bench/workload.hpp"

namespace leasehold::bench {

class room {
public:
    // `schema`: of PostgreSQL, as table_names has it.
    room(const std::string& url, const std::string& schema);
    // Removes what it made; tables that cannot be removed then stay, see remove().
    ~room();
    room(const room&) = delete;
    room& operator=(const room&) = delete;

    const place& where() const noexcept { return place_; }
    // Everything that was measured in it has ended. Throws where something could not be removed.
    void remove();

private:
    void make();

    place place_;
    std::string file_{};  // of SQLite
    bool is_removed_ = false;
};

// Removes the remains of rooms whose process was killed, and returns their names; a measurement
// that runs meanwhile loses its own.
std::vector<std::string> remove_left_behind(const std::string& url);

}  // namespace leasehold::bench
