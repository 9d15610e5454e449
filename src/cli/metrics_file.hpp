#pragma once
// Keeps a file with what is counted, for node_exporter's textfile collector: written at once, every
// ten seconds and at the end, beside the file and then put into its place.
//
//   const metrics_file kept{"/var/lib/node_exporter/mail.prom", counts, is_json};
//
// Each series has the file's name as its label `worker`, since the collector refuses series that
// two files have. Files that do not end in .prom are none for it: so nobody reads a half of one.
//
// A full disk and a file server that does not answer are in nobody's way: a thread of its own
// writes, for which nobody waits but the destructor, and that for a second. A failure is said at
// once, and then once a minute at most.
//
// Threads: made and destroyed by one.
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
