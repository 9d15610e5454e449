#pragma once
// A connection of somebody else's that counts what is sent over it, so that a test can see that an
// operation has begun to ask, and asks again.
//
// Threads: calls() from any.
#include <atomic>

#include "leasehold/connection.hpp"

namespace leasehold::testing {

// More than any one try sends, of an object that knows its table.
inline constexpr int calls_of_several_tries = 16;

class counted final : public connection {
public:
    explicit counted(connection& inside) : inside_(inside) {}

    int calls() const { return calls_; }

    const server_info& server() const noexcept override { return inside_.server(); }
    connection_state state() noexcept override { return inside_.state(); }
    result execute(std::string_view sql, const parameters& values) override {
        ++calls_;
        return inside_.execute(sql, values);
    }
    result execute_script(std::string_view sql, const parameters& values) override {
        ++calls_;
        return inside_.execute_script(sql, values);
    }
    void begin() override { inside_.begin(); }
    void commit() override { inside_.commit(); }
    void rollback() noexcept override { inside_.rollback(); }
    void set_statement_timeout(std::chrono::milliseconds limit) override {
        inside_.set_statement_timeout(limit);
    }

private:
    connection& inside_;
    std::atomic<int> calls_ = 0;
};

}  // namespace leasehold::testing
