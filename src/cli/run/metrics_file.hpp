#pragma once
// Keeps a file with the counts, for node_exporter's textfile collector. It writes the counts at
// once, every ten seconds and at the end: into a file beside the named one, which it then renames.
//
//   const metrics_file kept{"/var/lib/node_exporter/mail.prom", counts, is_json};
//
// Each series has the file's name as its label `worker`, since the collector refuses series that
// two files have. The collector skips files that do not end in .prom, so it never reads a
// half-written one.
//
// A full disk or a file server that does not answer blocks nothing: a thread of its own writes, and
// only the destructor waits for that thread, for a second. A failure is said at once, and then once
// a minute at most.
//
// Threads: one thread makes and destroys it.
#include <memory>
#include <string>
#include <thread>

#include "leasehold/metrics.hpp"

namespace leasehold::cli {

class metrics_file {
public:
    metrics_file(std::string path, std::shared_ptr<const metrics> counts, bool is_json);
    ~metrics_file();
    metrics_file(const metrics_file&) = delete;
    metrics_file& operator=(const metrics_file&) = delete;

private:
    class writer;
    const std::shared_ptr<writer> writer_;
    std::thread thread_;
};

}  // namespace leasehold::cli
