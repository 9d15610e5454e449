// Random histories of mixed operations with random deaths: every engine does what the model does,
// and what both do keeps the promises.
#include <gtest/gtest.h>

#include <iostream>

#include "conformance/backend.hpp"
#include "conformance/history_run.hpp"
#include "core/handle_maker.hpp"
#include "database/database.hpp"
#include "leasehold/inspect.hpp"
#include "leasehold/migrate.hpp"
#include "support/memory_store.hpp"
#include "support/passing_hold_store.hpp"
#include "support/patient.hpp"
#include "support/required.hpp"

namespace leasehold::testing {
namespace {

using std::chrono::microseconds;

// --------------------------------------------------------------------------- stores with a fault

class forgetting_lock_delay final : public passing_hold_store {
public:
    using passing_hold_store::passing_hold_store;
    acquire_result try_acquire(connection& on, const acquire_request& wanted) override {
        acquire_request without = wanted;
        without.lock_delay = microseconds{0};
        return passing_hold_store::try_acquire(on, without);
    }
};

class giving_a_token_twice final : public passing_hold_store {
public:
    using passing_hold_store::passing_hold_store;
    acquire_result try_acquire(connection& on, const acquire_request& wanted) override {
        acquire_result answer = passing_hold_store::try_acquire(on, wanted);
        if (answer.token.number > 1 && wanted.fixed_term) --answer.token.number;
        return answer;
    }
};

class reviving_the_dead final : public session_store {
public:
    explicit reviving_the_dead(std::shared_ptr<session_store> below) : below_(std::move(below)) {}

    server_environment environment(connection& on) override { return below_->environment(on); }
    bool start(connection& on, const session_start& session) override {
        return below_->start(on, session);
    }
    heartbeat_result heartbeat(
        connection& on, const session_id& id, microseconds ttl, const session_news& known
    ) override {
        const heartbeat_result answer = below_->heartbeat(on, id, ttl, known);
        if (answer.status != heartbeat_status::ended) return answer;
        return {heartbeat_status::renewed};
    }
    bool take_over(connection& on, const session_start& to, const std::string& expected) override {
        return below_->take_over(on, to, expected);
    }
    void end(
        connection& on,
        const session_id& id,
        const std::optional<std::vector<waiter_id>>& remove_unless
    ) override {
        below_->end(on, id, remove_unless);
    }
    std::optional<fencing_token> start_with_grant(
        connection& on, const session_start& session, const acquire_request& wanted
    ) override {
        return below_->start_with_grant(on, session, wanted);
    }
    bool end_with_release(connection& on, const session_id& id, const hold& last) override {
        return below_->end_with_release(on, id, last);
    }
    std::vector<session_info> list(connection& on) override { return below_->list(on); }

private:
    const std::shared_ptr<session_store> below_;
};

template <class Store, class Wrapper>
void wrap(store_set& in) {
    in.put<Store>(std::make_shared<Wrapper>(in.put<Store>(nullptr)));
}

// ------------------------------------------------------------------------------------- places

// A model with stores of the test's own over those of the model.
history_place make_model(const std::function<void(store_set&)>& change = [](store_set&) {}) {
    const auto model = std::make_shared<memory_database>();
    auto stores = model->stores();
    change(*stores);
    database over = handle_maker::share<database>(
        [model](std::chrono::milliseconds) { return model->connect(); },
        std::move(stores),
        database_settings{}
    );
    return {
        "the model",
        std::move(over),
        [model](const session_id& id, microseconds by) { model->age_session(id, by); },
        [model](const key& name, microseconds by) { model->age_lock(name, by); }};
}

// Tables of the tested engine that nobody else uses: a clean-up counts all there is.
class tables_apart {
public:
    tables_apart() { made_.make_tables(); }
    ~tables_apart() { made_.destroy(); }
    history_place place() const {
        return {made_.name, made_.open(patient()), made_.age_session, made_.age_lock};
    }

private:
    backend made_ = make_backend();
};

TEST(history_suite, random_histories_with_random_deaths_agree_with_the_model) {
    const tables_apart tables;
    const history_place tried = tables.place();
    const int number = tried.name == "memory" ? 50 : 500;
    history_tally tally;
    const auto difference = find_difference(tried, make_model(), seed(), number, tally);
    if (!difference.empty()) FAIL() << difference;
    std::cout << number << " histories of " << tally.steps << " steps\n";
    if (number < 500) return;  // too few for what is rare
    // Histories in which nothing happens agree with anything.
    for (const char* const answer :
         {"try_acquire: granted under ",
          "try_acquire: busy",
          "hand_over: handed over to owner ",
          "serve: handed over to owner ",
          "try_acquire as one of several: granted under ",
          "try_acquire as one of several: busy",
          "heartbeat: renewed",
          "heartbeat: ended"}) {
        EXPECT_GT(tally.answers[answer], 0) << answer;
    }
}

// A random history found this: the newest waiter leaves, and the next holder of the key must be
// able to free it in one statement.
TEST(history_suite, a_waiter_that_left_leaves_no_mark_behind_the_next_holder) {
    const tables_apart tables;
    const auto step = [](const char* name, int session, int owner) {
        history_step made;
        made.operation = operation_named(name);
        made.session = session;
        made.owner = owner;
        made.hours = 2;
        return made;
    };
    const std::vector<history_step> steps{
        step("start", 0, 0),
        step("start", 1, 0),
        step("start", 2, 0),
        step("try_acquire", 0, 3),
        step("enqueue", 1, 8),
        step("enqueue", 2, 10),
        step("withdraw the waiter", 2, 10),
        step("hand_over", 0, 3),
        step("release", 1, 8)};
    const auto difference =
        repeat_history(tables.place(), make_model(), history_names{seed(), 0, 0}, steps);
    EXPECT_FALSE(difference) << difference->what;
}

// Faults that the comparison and the ledger must find; on the model alone, as they know no engine.
struct planted_fault {
    const char* name;
    std::function<void(store_set&)> plant;
};

class history_fault_suite : public ::testing::TestWithParam<planted_fault> {
protected:
    // Mostly found within a hundred; some seeds take several.
    static constexpr int max_histories = 2000;
};

TEST_P(history_fault_suite, is_found_by_comparing_with_the_model) {
    history_tally tally;
    const std::string found =
        find_difference(make_model(GetParam().plant), make_model(), seed(), max_histories, tally);
    EXPECT_NE(found, "") << "after " << tally.steps << " steps";
    std::cout << found;
}

TEST_P(history_fault_suite, is_found_by_the_promises_where_both_sides_have_it) {
    history_tally tally;
    const std::string found = find_difference(
        make_model(GetParam().plant), make_model(GetParam().plant), seed(), max_histories, tally
    );
    EXPECT_NE(found.find("a promise was broken"), std::string::npos) << found;
    std::cout << found;
}

const planted_fault faults[] = {
    {"no_lock_delay", [](store_set& in) { wrap<hold_store, forgetting_lock_delay>(in); }},
    {"a_token_twice", [](store_set& in) { wrap<hold_store, giving_a_token_twice>(in); }},
    {"revival", [](store_set& in) { wrap<session_store, reviving_the_dead>(in); }},
};

INSTANTIATE_TEST_SUITE_P(
    planted,
    history_fault_suite,
    ::testing::ValuesIn(faults),
    [](const auto& of) { return of.param.name; }
);

}  // namespace
}  // namespace leasehold::testing
