#include "driver/mysql_left.hpp"

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>

#include "leasehold/connection.hpp"
#include "leasehold/error.hpp"

namespace leasehold::mysql {
namespace {

class statement final : public left_work {
public:
    statement(
        std::int64_t number,
        std::string server,
        local_clock::time_point made,
        local_clock::time_point given_up
    )
        : number_(number), server_(std::move(server)), made_(made), given_up_(given_up) {}

    local_clock::time_point limit() const noexcept override {
        return local_clock::time_point::max();
    }

    bool has_ended(connection& by) override {
        if (!is_there(by)) return true;
        constexpr int no_such_thread = 1094;
        try {
            by.execute("KILL CONNECTION " + std::to_string(number_), {});
        } catch (const error& failure) {
            if (failure.native_code() == no_such_thread) return true;
            if (failure.connection_is_lost()) throw;
        }
        return !is_there(by);
    }

private:
    // Connection numbers begin anew when the server starts, so ours may belong to another client.
    // If the server started after our connection was made, our connection has ended. Ours has been
    // in its present state for at least the time since it was given up. An account sees its own
    // connections.
    bool is_there(connection& by) const {
        constexpr const char* which =
            "SELECT CONCAT_WS(':', @@hostname, @@port, @@server_id) AS server_place LIMIT 1";
        if (by.execute(which, {}).rows.at(0).text("server_place") != server_) return false;
        const result up = by.execute("SHOW GLOBAL STATUS LIKE 'Uptime'", {});
        if (std::stoll(up.rows.at(0).text("Value")) < since(made_)) return false;
        const auto age = since(given_up_);
        const result all = by.execute("SHOW PROCESSLIST", {});
        return std::ranges::any_of(all.rows, [&](const row& each) {
            return each.integer("Id") == number_ && !each.is_null("Time") &&
                   each.integer("Time") >= age;
        });
    }

    // Counts whole seconds, as the server does.
    static std::int64_t since(local_clock::time_point then) {
        using std::chrono::seconds;
        return std::chrono::duration_cast<seconds>(local_clock::now() - then).count();
    }

    const std::int64_t number_;
    const std::string server_;
    const local_clock::time_point made_;
    const local_clock::time_point given_up_;
};

}  // namespace

std::unique_ptr<left_work> left_statement(
    std::int64_t number,
    std::string server,
    local_clock::time_point made,
    local_clock::time_point given_up
) {
    return std::make_unique<statement>(number, std::move(server), made, given_up);
}

}  // namespace leasehold::mysql
