#include "support/faulty_connection.hpp"

#include <atomic>
#include <utility>

#include "core/timed_wait.hpp"
#include "leasehold/error.hpp"
#include "support/eventually.hpp"

namespace leasehold::testing {

using std::chrono::milliseconds;

const char* name_of(fault how) noexcept {
    switch (how) {
        case fault::lost_before_sending:
            return "lost_before_sending";
        case fault::lost_on_the_way:
            return "lost_on_the_way";
        case fault::lost_after_it:
            return "lost_after_it";
        case fault::carried_out_late:
            return "carried_out_late";
        case fault::answered_late:
            return "answered_late";
        case fault::refused:
            return "refused";
        case fault::read_only:
            return "read_only";
        case fault::hangs:
            return "hangs";
    }
    return "unknown";
}

class faulty_connection final : public connection {
public:
    faulty_connection(std::shared_ptr<fault_plan> plan, std::unique_ptr<connection> inside)
        : plan_(std::move(plan)), inside_(std::move(inside)), server_(inside_->server()) {}

    const server_info& server() const noexcept override { return server_; }
    connection_state state() noexcept override {
        return inside_ ? inside_->state() : connection_state::lost;
    }

    result execute(std::string_view sql, const parameters& values) override {
        return call(sql, [text = std::string(sql), values](connection& on) {
            return on.execute(text, values);
        });
    }
    result execute_script(std::string_view sql, const parameters& values) override {
        return call(sql, [text = std::string(sql), values](connection& on) {
            return on.execute_script(text, values);
        });
    }
    void begin() override {
        call("BEGIN", [](connection& on) {
            on.begin();
            return result{};
        });
    }
    void commit() override {
        call("COMMIT", [](connection& on) {
            on.commit();
            return result{};
        });
    }
    void rollback() noexcept override {
        if (inside_) inside_->rollback();
    }
    void set_statement_timeout(milliseconds limit) override {
        limit_ = limit;
        if (inside_) inside_->set_statement_timeout(limit);
    }

private:
    using action = std::function<result(connection&)>;

    result call(std::string_view statement, action carry_out) {
        if (!inside_) throw error(errc::connection_lost, "the connection was lost before");
        const auto planned = plan_->next(statement);
        if (!planned) return carry_out(*inside_);
        switch (*planned) {
            case fault::lost_before_sending:
                inside_.reset();
                throw error(errc::connection_lost, "the connection was lost before sending");
            case fault::lost_on_the_way:
                lose(statement, errc::connection_lost);
            case fault::lost_after_it:
                carry_out(*inside_);
                lose(statement, errc::connection_lost);
            case fault::carried_out_late: {
                // A server that is still at it keeps the connection's transaction open, too.
                const auto kept = std::shared_ptr<connection>(std::move(inside_));
                const auto before = kept->state();  // from then on it is another thread's
                plan_->keep_for_later([kept, carry_out] { carry_out(*kept); });
                throw unknown(statement, errc::timed_out, before);
            }
            case fault::answered_late: {
                result answer = carry_out(*inside_);
                if (plan_->hang(limit_)) return answer;
                lose(statement, errc::timed_out);
            }
            case fault::refused:
                throw error(errc::transient, "deadlock found; the statement was rolled back");
            case fault::read_only:
                throw error(errc::read_only, "the server takes no changes");
            case fault::hangs:
                if (plan_->hang(limit_)) return carry_out(*inside_);
                lose(statement, errc::timed_out);
        }
        throw error(errc::unsupported, "no such fault");
    }

    [[noreturn]] void lose(std::string_view statement, errc code) {
        const auto before = inside_->state();
        inside_.reset();
        throw unknown(statement, code, before);
    }

    // In a transaction a lost answer leaves no doubt, unless it was COMMIT's.
    static error unknown(std::string_view statement, errc code, connection_state before) {
        error_facts facts;
        facts.outcome_unknown = before != connection_state::in_transaction || statement == "COMMIT";
        return {code, "the answer to " + std::string(statement) + " was lost", std::move(facts)};
    }

    const std::shared_ptr<fault_plan> plan_;
    std::unique_ptr<connection> inside_;  // nothing: lost
    const server_info server_;
    milliseconds limit_{10'000};
};

// -------------------------------------------------------------------------------------- the plan

void fault_plan::plan(chooser decide) {
    const std::lock_guard guard{mutex_};
    decide_ = std::move(decide);
    calls_ = 0;
    strikes_ = 0;
    is_let_go_ = false;
}

void fault_plan::fail_when(chooser decide) {
    plan(std::move(decide));
}

void fault_plan::fail_call(int number, fault how) {
    plan([=](std::string_view, int at) { return at == number ? std::optional{how} : std::nullopt; }
    );
}

void fault_plan::fail_every(const std::string& part_of_statement, fault how) {
    plan([=](std::string_view statement, int) {
        const bool is_meant = statement.find(part_of_statement) != std::string_view::npos;
        return is_meant ? std::optional{how} : std::nullopt;
    });
}

void fault_plan::fail_in_turn(const std::string& part_of_statement, std::vector<fault> how) {
    const auto done = std::make_shared<std::atomic<std::size_t>>(0);
    plan([=](std::string_view statement, int) -> std::optional<fault> {
        if (statement.find(part_of_statement) == std::string_view::npos) return std::nullopt;
        const std::size_t turn = (*done)++;
        return turn < how.size() ? std::optional{how[turn]} : std::nullopt;
    });
}

void fault_plan::heal() {
    plan(nullptr);
}

int fault_plan::calls() const {
    const std::lock_guard guard{mutex_};
    return calls_;
}

int fault_plan::strikes() const {
    const std::lock_guard guard{mutex_};
    return strikes_;
}

bool fault_plan::wait_for_strikes(int number, milliseconds timeout) {
    return eventually([&] { return strikes() >= number; }, timeout);
}

std::optional<fault> fault_plan::next(std::string_view statement) {
    chooser decide;
    int number = 0;
    {
        const std::lock_guard guard{mutex_};
        number = ++calls_;
        decide = decide_;
    }
    const auto chosen = decide ? decide(statement, number) : std::nullopt;
    if (chosen) {
        const std::lock_guard guard{mutex_};
        ++strikes_;
    }
    return chosen;
}

bool fault_plan::hang(milliseconds limit) {
    std::unique_lock guard{mutex_};
    const auto end = local_clock::now() + limit + milliseconds{1000};
    return wait_until(guard, changed_, {}, end, [&] { return is_let_go_; });
}

void fault_plan::let_go() {
    const std::lock_guard guard{mutex_};
    is_let_go_ = true;
    changed_.notify_all();
}

void fault_plan::keep_for_later(std::function<void()> late) {
    const std::lock_guard guard{mutex_};
    late_.push_back(std::move(late));
}

void fault_plan::carry_out_the_late() {
    std::vector<std::function<void()>> late;
    {
        const std::lock_guard guard{mutex_};
        late.swap(late_);
    }
    for (const auto& each : late) {
        try {
            each();
        } catch (const error&) {
            // Nobody listens to the answer any more.
        }
    }
}

std::unique_ptr<connection> fault_plan::wrap(std::unique_ptr<connection> inside) {
    return std::make_unique<faulty_connection>(shared_from_this(), std::move(inside));
}

std::function<connector(connector)> fault_plan::wrapper() {
    return [self = shared_from_this()](connector connect) -> connector {
        return [self, connect = std::move(connect)](milliseconds timeout) {
            if (self->next("connect")) {
                error_facts facts;
                facts.is_passing = true;
                throw error(errc::connection_failed, "connection refused; try again", facts);
            }
            return self->wrap(connect(timeout));
        };
    };
}

}  // namespace leasehold::testing
