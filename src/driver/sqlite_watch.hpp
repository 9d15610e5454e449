#pragma once
// Private to the SQLite driver: a watch over the files of a database that other processes write.
//
// Watches the folder, since the log file is deleted when its last user closes. An event says only
// that somebody writes; `PRAGMA data_version` says whether a commit can be seen yet.
//
// Threads: one at a time.
#include <string>

#include "leasehold/clock.hpp"

namespace leasehold::sqlite {

class file_watch {
public:
    // Throws unsupported if the kernel gives no watch.
    explicit file_watch(const std::string& path);
    ~file_watch();
    file_watch(const file_watch&) = delete;
    file_watch& operator=(const file_watch&) = delete;

    // True if the database or its log was written to; false when the time came first.
    bool wait(local_clock::time_point until);

private:
    bool takes_events();

    std::string name_;
    int events_ = -1;
};

}  // namespace leasehold::sqlite
