#pragma once
// A database whose connections are known by the numbers the server gave them, and whose statements
// are kept: to end the first at the server, and to look for what must not be in the second.
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "leasehold/connection.hpp"
#include "leasehold/database.hpp"
#include "leasehold/mutex.hpp"

namespace leasehold::testing {

// Threads: safe; shared by all connections it is told of.
class traffic {
public:
    struct statement {
        std::string text;
        parameters values;
    };

    void opened(std::int64_t id);
    void closed(std::int64_t id);
    void sent(std::string_view text, const parameters& values);
    void heard(const result& answer);
    void enter();
    void leave();

    std::set<std::int64_t> connections() const;  // open now
    int connections_made() const;
    std::vector<statement> statements() const;
    // True when the database gave this number in an answer.
    bool was_heard(std::int64_t number) const;
    int calls_under_way() const;

private:
    mutable std::mutex mutex_;
    std::set<std::int64_t> open_;
    int made_ = 0;
    int under_way_ = 0;
    std::vector<statement> statements_;
    std::set<std::int64_t> heard_;
};

// Connects by way of `behind`. `id_of` is asked of each new connection.
database watched(
    const database& behind,
    std::shared_ptr<traffic> by,
    std::function<std::int64_t(connection&)> id_of,
    database_settings settings = {}
);

}  // namespace leasehold::testing
