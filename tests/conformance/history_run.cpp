#include "conformance/history_run.hpp"

#include <functional>

namespace leasehold::testing {
namespace {

// Both sides and the ledger, step by step.
class history_pair {
public:
    history_pair(const history_place& tried, const history_place& model, const history_names& names)
        : tried_(tried), model_(model), tried_side_(tried, names), model_side_(model, names) {}

    history_ledger& ledger() noexcept { return ledger_; }
    const std::string& last_answer() const noexcept { return answer_; }

    // Returns the difference or the broken promise, or an empty text if there is neither.
    std::string carry_out(const history_step& step) {
        answer_ = tried_side_.carry_out(step);
        const std::string expected = model_side_.carry_out(step);
        std::string broken;
        for (const history_event& each : tried_side_.events()) {
            if (broken.empty()) broken = ledger_.note(each);
        }
        let_time_pass(step);
        if (answer_ != expected) {
            return tried_.name + " answers: " + answer_ + "\n" + model_.name +
                   " answers: " + expected;
        }
        return broken.empty() ? "" : "a promise was broken: " + broken + "; answer: " + answer_;
    }

private:
    void let_time_pass(const history_step& step) {
        const std::string_view name = operations()[step.operation].name;
        const auto by = std::chrono::hours{step.hours} + std::chrono::seconds{10};
        if (name == "is silent") ledger_.age_session(step.session, by);
        if (name == "term passes") ledger_.age_key(step.key, by);
        if (name == "time passes") {
            for (int each = 0; each < history_names::sessions; ++each) {
                ledger_.age_session(each, by);
            }
            for (int each = 0; each < history_names::keys; ++each) ledger_.age_key(each, by);
        }
        if (name == "remove_sessions" || step.removes_row) ledger_.sessions_were_removed();
    }

    const history_place& tried_;
    const history_place& model_;
    history_side tried_side_;
    history_side model_side_;
    history_ledger ledger_;
    std::string answer_;
};

// Everything that can be seen, and then the end of it all: nothing may be left.
std::vector<history_step> last_steps(history_generator& make) {
    std::vector<history_step> all;
    const auto add_for_each = [&](int number, auto member, std::initializer_list<const char*> ops) {
        for (int each = 0; each < number; ++each) {
            for (const char* const name : ops) {
                history_step made = make.of(name);
                made.*member = each;
                all.push_back(made);
            }
        }
    };
    all.push_back(make.of("list", 100));
    all.push_back(make.of("list of holders", 100));
    all.push_back(make.of("list of sessions", 1));
    all.push_back(make.of("look"));
    all.push_back(make.of("find_unserved"));
    add_for_each(history_names::keys, &history_step::key, {"describe", "tally", "holders_of"});
    add_for_each(history_names::sessions, &history_step::session, {"end"});
    all.push_back(make.of("time passes", 24));
    add_for_each(history_names::keys, &history_step::key, {"serve"});
    all.push_back(make.of("free_locks_of_the_dead"));
    all.push_back(make.of("remove_dead"));
    all.push_back(make.of("remove_dead_waiters"));
    add_for_each(history_names::keys, &history_step::key, {"describe"});
    all.push_back(make.of("remove_sessions"));
    all.push_back(make.of("remove_idle_locks"));
    return all;
}

// Without what the last step does not need.
std::vector<history_step> shrunk(
    const history_place& tried,
    const history_place& model,
    history_names names,
    std::vector<history_step> steps
) {
    for (std::size_t back = 2; back <= steps.size();) {
        std::vector<history_step> fewer = steps;
        fewer.erase(fewer.end() - static_cast<std::ptrdiff_t>(back));
        ++names.attempt;
        const auto difference = repeat_history(tried, model, names, fewer);
        if (difference && difference->at + 1 == fewer.size()) {
            steps = std::move(fewer);
        } else {
            ++back;
        }
    }
    return steps;
}

}  // namespace

history_result run_history(
    const history_place& tried,
    const history_place& model,
    const history_names& names,
    history_tally& tally
) {
    history_pair both{tried, model, names};
    history_generator make{
        names.seed * 1000003UL + static_cast<unsigned long>(names.history), both.ledger()};
    history_result result;
    const auto differs = [&](const history_step& step) {
        result.steps.push_back(step);
        const std::string found = both.carry_out(step);
        ++tally.steps;
        const std::string& answer = both.last_answer();
        const auto stem = answer.substr(0, answer.find_first_of(":0123456789"));
        ++tally.answers[std::string(operations()[step.operation].name) + ": " + stem];
        if (!found.empty()) result.difference = {result.steps.size() - 1, found};
        return !found.empty();
    };
    for (int each = 0; each < history_names::sessions; ++each) {
        history_step start = make.of("start", 2 + 2 * each);
        start.session = each;
        if (differs(start)) return result;
    }
    for (int left = 40 + names.history % 21; left > 0; --left) {
        if (differs(make.next())) return result;
    }
    for (const history_step& each : last_steps(make)) {
        if (differs(each)) return result;
    }
    return result;
}

std::optional<history_difference> repeat_history(
    const history_place& tried,
    const history_place& model,
    const history_names& names,
    const std::vector<history_step>& steps
) {
    history_pair both{tried, model, names};
    std::optional<history_difference> difference;
    for (std::size_t at = 0; at < steps.size() && !difference; ++at) {
        const std::string found = both.carry_out(steps[at]);
        if (!found.empty()) difference = {at, found};
    }
    // Nothing is left for the next one, wherever this one stopped.
    history_generator make{0, both.ledger()};
    for (const history_step& each : last_steps(make)) both.carry_out(each);
    return difference;
}

std::string explain(
    const history_place& tried,
    const history_place& model,
    const history_names& names,
    history_result found
) {
    found.steps.resize(found.difference->at + 1);
    const std::size_t number = found.steps.size();
    std::string text = "history " + std::to_string(names.history) +
                       " of LEASEHOLD_TEST_SEED=" + std::to_string(names.seed) + ", step " +
                       std::to_string(number) + ":\n" + found.difference->what +
                       "\nSteps that lead to such a difference:\n";
    for (const history_step& each : shrunk(tried, model, names, found.steps)) {
        text += "  " + text_of(each) + "\n";
    }
    return text;
}

std::string find_difference(
    const history_place& tried,
    const history_place& model,
    unsigned long seed,
    int number,
    history_tally& tally
) {
    for (history_names names{seed, 0, 0}; names.history < number; ++names.history) {
        auto result = run_history(tried, model, names, tally);
        if (result.difference) return explain(tried, model, names, std::move(result));
    }
    return "";
}

}  // namespace leasehold::testing
