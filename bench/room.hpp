#pragma once
// Where a measurement takes place: tables of its own in the user's database, with a random prefix,
// or on SQLite a file of its own beside the user's. They go with this object.
//
// Errors: what the database says, as migrate() does. Threads: one.
#include <string>
#include <vector>

#include "bench/workload.hpp"

namespace leasehold::bench {

class room {
public:
    // `schema`: of PostgreSQL, as table_names has it.
    room(const std::string& url, const std::string& schema);
    // Removes what it made; what fails then stays, see remove().
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

// What rooms have left whose process was killed, by name; a measurement that runs meanwhile loses
// its own.
std::vector<std::string> remove_left_behind(const std::string& url);

}  // namespace leasehold::bench
