#pragma once
// A way to the database that can be shut: calls made while it is closed fail as if the connection
// had broken before anything was sent.
#include <atomic>
#include <functional>
#include <memory>
#include <type_traits>

#include "leasehold/connection.hpp"
#include "leasehold/database.hpp"
#include "leasehold/error.hpp"

namespace leasehold::testing {

class gate {
public:
    void close() noexcept { is_closed_ = true; }
    void open() noexcept { is_closed_ = false; }
    int refused() const noexcept { return refused_; }
    int passed() const noexcept { return passed_; }
    int deadlocks() const noexcept { return deadlocks_; }  // the database reported
    // Runs whenever a call has come back, on whatever thread; set it before anybody passes.
    std::function<void()> on_return;
    void pass() {
        ++passed_;
        if (!is_closed_) return;
        ++refused_;
        throw error(errc::connection_lost, "the test closed the way to the database");
    }
    // There and back.
    template <class Call>
    auto carry(Call&& call) -> decltype(call()) {
        pass();
        try {
            if constexpr (std::is_void_v<decltype(call())>) {
                call();
                if (on_return) on_return();
            } else {
                auto answer = call();
                if (on_return) on_return();
                return answer;
            }
        } catch (const error& failure) {
            constexpr int innodb_deadlock = 1213;
            if (failure.native_code() == innodb_deadlock || failure.sqlstate() == "40P01") {
                ++deadlocks_;
            }
            throw;
        }
    }

private:
    std::atomic<bool> is_closed_ = false;
    std::atomic<int> refused_ = 0;
    std::atomic<int> passed_ = 0;  // or refused
    std::atomic<int> deadlocks_ = 0;
};

class gated_connection final : public connection {
public:
    gated_connection(std::unique_ptr<connection> behind, std::shared_ptr<gate> through)
        : behind_(std::move(behind)), gate_(std::move(through)) {}

    const server_info& server() const noexcept override { return behind_->server(); }
    connection_state state() noexcept override { return behind_->state(); }
    result execute(std::string_view sql, const parameters& values) override {
        return gate_->carry([&] { return behind_->execute(sql, values); });
    }
    result execute_script(std::string_view sql, const parameters& values) override {
        return gate_->carry([&] { return behind_->execute_script(sql, values); });
    }
    void begin() override {
        gate_->pass();
        behind_->begin();
    }
    void commit() override {
        gate_->carry([&] { behind_->commit(); });
    }
    void rollback() noexcept override { behind_->rollback(); }
    void set_statement_timeout(std::chrono::milliseconds limit) override {
        behind_->set_statement_timeout(limit);
    }
    bool can_notify() const noexcept override { return behind_->can_notify(); }
    void listen(std::string_view channel) override {
        gate_->pass();
        behind_->listen(channel);
    }
    std::optional<notification> wait_for_notification(std::chrono::milliseconds timeout) override {
        return behind_->wait_for_notification(timeout);
    }
    int notification_descriptor() const noexcept override {
        return behind_->notification_descriptor();
    }

private:
    std::unique_ptr<connection> behind_;
    std::shared_ptr<gate> gate_;
};

// Connects by way of `behind`, through the gate.
connector gated_connector(const database& behind, std::shared_ptr<gate> through);

}  // namespace leasehold::testing
