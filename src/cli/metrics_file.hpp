#pragma once
// Keeps a file with the counts, for node_exporter's textfile collector: writes them at once, every
// ten seconds and at the end, beside the file, and then puts that into its place.
//
//   const metrics_file kept{"/var/lib/node_exporter/mail.prom", counts, is_json};
//
// Each series has the file's name as its label `worker`, since the collector refuses series that
// two files have. It skips files that do not end in .prom: so it reads no half of one.
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
