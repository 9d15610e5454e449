#pragma once
// A connection that does nothing, for tests of the code that lends it.
#include <atomic>
#include <chrono>
#include <memory>
#include <string_view>

#include "core/left_work.hpp"
#include "core/model_engine.hpp"
#include "leasehold/connection.hpp"
#include "leasehold/error.hpp"
#include "support/test_time.hpp"

namespace leasehold::testing {

using std::chrono::milliseconds;

// The events of all connections of one test.
struct record {
    std::atomic<int> made = 0;
    std::atomic<int> closed = 0;
    std::atomic<int> asked = 0;
    std::atomic<bool> answers = true;
    std::atomic<bool> is_lost_by_answer = false;  // as a fail-over makes it useless
    std::atomic<bool> is_work_over = false;       // of those that were given up
    std::atomic<int> asked_after = 0;             // the questions about that work
    milliseconds silence{0};                      // where it does not answer
    engine which = model_engine;
};

class idle_connection : public connection, public leaves_work {
public:
    explicit idle_connection(record& of) : record_(of) { number = ++record_.made; }
    ~idle_connection() override { ++record_.closed; }

    const server_info& server() const noexcept override { return server_; }
    connection_state state() noexcept override { return now; }
    result execute(std::string_view, const parameters&) override {
        ++record_.asked;
        if (record_.is_lost_by_answer) now = connection_state::lost;
        if (record_.answers) return {{row{{1}}}, 0};
        test_time::advance(record_.silence);
        throw error(errc::connection_lost, "it slept for too long");
    }
    result execute_script(std::string_view, const parameters&) override { return {}; }
    void begin() override {}
    void commit() override {}
    void rollback() noexcept override {}
    void set_statement_timeout(milliseconds given) override { limit = given; }

    std::unique_ptr<left_work> left() const override {
        if (!is_given_up) return nullptr;
        return std::make_unique<work>(record_, work_limit);
    }

    bool is_given_up = false;
    local_clock::time_point work_limit = local_clock::time_point::max();
    int number = 0;
    milliseconds limit{0};
    connection_state now = connection_state::idle;

private:
    class work final : public left_work {
    public:
        work(record& of, local_clock::time_point limit) : record_(of), limit_(limit) {}
        local_clock::time_point limit() const noexcept override { return limit_; }
        bool has_ended(connection&) override {
            ++record_.asked_after;
            return record_.is_work_over;
        }

    private:
        record& record_;
        const local_clock::time_point limit_;
    };

    record& record_;
    const server_info server_{record_.which, 10000, "nothing"};
};

inline idle_connection& seen(const std::unique_ptr<connection>& lent) {
    return static_cast<idle_connection&>(*lent);
}

}  // namespace leasehold::testing
