#include "fault/traffic.hpp"

#include "database/database.hpp"

namespace leasehold::testing {
namespace {

class watched_connection final : public connection {
public:
    watched_connection(
        std::unique_ptr<connection> inside, std::shared_ptr<traffic> by, std::int64_t id
    )
        : inside_(std::move(inside)), by_(std::move(by)), id_(id) {
        by_->opened(id_);
    }
    ~watched_connection() override { by_->closed(id_); }

    const server_info& server() const noexcept override { return inside_->server(); }
    connection_state state() noexcept override { return inside_->state(); }
    result execute(std::string_view sql, const parameters& values) override {
        const call now{*by_, sql, values};
        result answer = inside_->execute(sql, values);
        by_->heard(answer);
        return answer;
    }
    result execute_script(std::string_view sql, const parameters& values) override {
        const call now{*by_, sql, values};
        result answer = inside_->execute_script(sql, values);
        by_->heard(answer);
        return answer;
    }
    void begin() override {
        const call now{*by_, "BEGIN", {}};
        inside_->begin();
    }
    void commit() override {
        const call now{*by_, "COMMIT", {}};
        inside_->commit();
    }
    void rollback() noexcept override { inside_->rollback(); }
    void set_statement_timeout(std::chrono::milliseconds limit) override {
        inside_->set_statement_timeout(limit);
    }

private:
    struct call {
        call(traffic& in, std::string_view sql, const parameters& values) : in_(in) {
            in_.sent(sql, values);
            in_.enter();
        }
        ~call() { in_.leave(); }
        call(const call&) = delete;
        call& operator=(const call&) = delete;
        traffic& in_;
    };

    std::unique_ptr<connection> inside_;
    std::shared_ptr<traffic> by_;
    std::int64_t id_;
};

}  // namespace

void traffic::opened(std::int64_t id) {
    const std::lock_guard guard{mutex_};
    open_.insert(id);
    ++made_;
}
void traffic::closed(std::int64_t id) {
    const std::lock_guard guard{mutex_};
    open_.erase(id);
}
void traffic::sent(std::string_view text, const parameters& values) {
    const std::lock_guard guard{mutex_};
    statements_.push_back({std::string{text}, values});
}
void traffic::heard(const result& answer) {
    const std::lock_guard guard{mutex_};
    for (const row& each : answer.rows) {
        for (std::size_t column = 0; column < each.columns.size(); ++column) {
            try {
                if (!each.is_null(column)) heard_.insert(each.integer(column));
            } catch (const std::exception&) {
                continue;  // not a number
            }
        }
    }
}
bool traffic::was_heard(std::int64_t number) const {
    const std::lock_guard guard{mutex_};
    return heard_.contains(number);
}
void traffic::enter() {
    const std::lock_guard guard{mutex_};
    ++under_way_;
}
void traffic::leave() {
    const std::lock_guard guard{mutex_};
    --under_way_;
}
std::set<std::int64_t> traffic::connections() const {
    const std::lock_guard guard{mutex_};
    return open_;
}
int traffic::connections_made() const {
    const std::lock_guard guard{mutex_};
    return made_;
}
std::vector<traffic::statement> traffic::statements() const {
    const std::lock_guard guard{mutex_};
    return statements_;
}
int traffic::calls_under_way() const {
    const std::lock_guard guard{mutex_};
    return under_way_;
}

database watched(
    const database& behind,
    std::shared_ptr<traffic> by,
    std::function<std::int64_t(connection&)> id_of,
    database_settings settings
) {
    settings.names = behind.settings().names;
    const auto connect = [behind, by, id_of](std::chrono::milliseconds timeout) {
        auto made = behind.inner()->connections().connect_apart(timeout);
        const auto id = id_of(*made);
        return std::make_unique<watched_connection>(std::move(made), by, id);
    };
    return database{connect, std::move(settings)};
}

}  // namespace leasehold::testing
