#pragma once
// Sends one request on a connection of the pool, together with those that wait for one by then.
#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "database/combiner.hpp"
#include "database/database.hpp"

namespace leasehold {

// `several(connection, store, wanted)` gives an answer, or nullopt, for each of many; `alone(
// connection, store)` the answer for this one.
template <class Answer, class Wanted, class Several, class Alone>
Answer ask_beside_others(
    database::implementation& within,
    combiner& others,
    const bounds& of_call,
    const Wanted& wanted,
    Several&& several,
    Alone&& alone
) {
    struct asked final : combiner::request {
        explicit asked(const Wanted& which) : what(which) {}
        const Wanted& what;
        std::optional<Answer> answer;
    };
    const auto together = [&](connection& on, store_set& stores, const combiner::requests& all) {
        std::vector<const Wanted*> what;
        for (const auto* each : all) what.push_back(&static_cast<const asked*>(each)->what);
        std::vector<std::optional<Answer>> answers = several(on, stores, what);
        for (std::size_t at = 0; at < all.size(); ++at) {
            static_cast<asked*>(all[at])->answer = std::move(answers[at]);
        }
    };
    asked mine{wanted};
    const auto lend = [&](const bounds& until, const auto& use) { within.use(until, use); };
    const auto by_itself = [&](connection& on, store_set& stores) {
        mine.answer = alone(on, stores);
    };
    if (within.combines()) {
        others.carry(mine, of_call, lend, together, by_itself, [&] {
            return mine.answer.has_value();
        });
    } else {
        lend(of_call, by_itself);
    }
    return *std::move(mine.answer);
}

}  // namespace leasehold
