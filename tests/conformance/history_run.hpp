#pragma once
// Makes random histories, carries each out on two places, and compares; see history.hpp.
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "conformance/history.hpp"
#include "conformance/history_ledger.hpp"
#include "leasehold/leader_election.hpp"

namespace leasehold::testing {

// Next steps that are likely to do something as things stand.
class history_generator {
public:
    history_generator(unsigned long seed, history_ledger& ledger);

    history_step next();
    history_step of(std::string_view operation, int hours = 0);

private:
    int below(int limit) { return static_cast<int>(random_() % static_cast<unsigned>(limit)); }
    bool is_one_in(int number) { return below(number) == 0; }
    template <class Value>
    Value one_of(std::initializer_list<Value> all) {
        return all.begin()[below(static_cast<int>(all.size()))];
    }

    int some_session();
    int some_owner() const;
    void choose_new_owner(history_step& made);
    void choose_hold(history_step& made, bool of_a_mutex);
    void choose_waiter(history_step& made);
    void ask_for_a_place(history_step& made);
    void set_operands(history_step& made);

    std::mt19937_64 random_;
    history_ledger& ledger_;
    std::vector<lock_kind> favourites_;  // what each key is mostly used as
    std::vector<int> sessions_of_owners_;
    std::vector<history_step> queued_;
    int total_weight_ = 0;
};

struct history_difference {
    std::size_t at = 0;  // the step
    std::string what;    // both answers, or the promise that was broken
};

struct history_tally {
    std::int64_t steps = 0;
    std::map<std::string, std::int64_t> answers;  // by operation and how the answer begins
};

// One history that both must agree on; made step by step, with what it leads to.
struct history_result {
    std::vector<history_step> steps;
    std::optional<history_difference> difference;
};
history_result run_history(
    const history_place& tried,
    const history_place& model,
    const history_names& names,
    history_tally& tally
);

// Carries out these steps again, under other names.
std::optional<history_difference> repeat_history(
    const history_place& tried,
    const history_place& model,
    const history_names& names,
    const std::vector<history_step>& steps
);

// Leaves out the steps that the difference does not need, and returns the others as text.
std::string explain(
    const history_place& tried,
    const history_place& model,
    const history_names& names,
    history_result found
);

// Runs the histories 0 to `number` of a seed until the two places differ. Returns the explanation,
// or an empty text.
std::string find_difference(
    const history_place& tried,
    const history_place& model,
    unsigned long seed,
    int number,
    history_tally& tally
);

}  // namespace leasehold::testing
