#include <algorithm>

#include "conformance/history_run.hpp"
#include "leasehold/barrier.hpp"

namespace leasehold::testing {
namespace {

// shared_mutex.cpp has the same number: more than anybody can use up.
constexpr std::int64_t everything = 1'000'000'000;
constexpr int participants = 2;  // of a barrier
constexpr int places = 3;        // of a semaphore or a latch

}  // namespace

history_generator::history_generator(unsigned long seed, history_ledger& ledger)
    : random_(seed), ledger_(ledger) {
    for (int each = 0; each < history_names::keys; ++each) {
        favourites_.push_back(one_of(
            {lock_kind::mutex,
             lock_kind::mutex,
             lock_kind::shared_mutex,
             lock_kind::semaphore,
             lock_kind::latch,
             lock_kind::barrier}
        ));
    }
    // At least one key has an owner and a queue.
    favourites_[0] = lock_kind::mutex;
    for (const history_operation& each : operations()) total_weight_ += each.weight;
}

history_step history_generator::of(std::string_view operation, int hours) {
    history_step made;
    made.operation = operation_named(operation);
    made.hours = hours;
    return made;
}

history_step history_generator::next() {
    history_step made;
    int left = below(total_weight_);
    while (left >= operations()[made.operation].weight) {
        left -= operations()[made.operation].weight;
        ++made.operation;
    }
    made.key = below(history_names::keys);
    set_operands(made);
    return made;
}

// Mostly one that lives.
int history_generator::some_session() {
    int number = below(history_names::sessions);
    if (!ledger_.is_live(number) && !is_one_in(4)) number = below(history_names::sessions);
    return number;
}

int history_generator::some_owner() const {
    return static_cast<int>(sessions_of_owners_.size()) - 1;
}

void history_generator::choose_new_owner(history_step& made) {
    made.session = some_session();
    made.owner = static_cast<int>(sessions_of_owners_.size());
    sessions_of_owners_.push_back(made.session);
}

// Mostly one that was granted something and did not give it back; with the right token.
void history_generator::choose_hold(history_step& made, bool of_a_mutex) {
    std::vector<history_step> holds;
    for (int each = 0; each < history_names::keys; ++each) {
        for (const auto& [owner, held] : ledger_.holds_of(each)) {
            if ((held.by.kind == lock_kind::mutex) == of_a_mutex) holds.push_back(held.by);
        }
    }
    if (holds.empty() || is_one_in(12)) {
        made.kind = of_a_mutex ? lock_kind::mutex : lock_kind::semaphore;
        if (some_owner() < 0) choose_new_owner(made);
        made.owner = below(some_owner() + 1);
    } else {
        const history_step& by = holds[static_cast<std::size_t>(below(int(holds.size())))];
        made.key = by.key;
        made.owner = by.owner;
        made.kind = by.kind;
        made.permits = by.permits;
        made.capacity = by.capacity;
        if (is_one_in(10)) made.token_skew = one_of({-1, 1});
    }
    made.session = sessions_of_owners_[static_cast<std::size_t>(made.owner)];
}

void history_generator::choose_waiter(history_step& made) {
    if (queued_.empty()) return choose_hold(made, true);
    const history_step& by = queued_[static_cast<std::size_t>(below(int(queued_.size())))];
    made.key = by.key;
    made.owner = by.owner;
    made.session = by.session;
}

void history_generator::ask_for_a_place(history_step& made) {
    auto& kind = made.kind;
    kind = favourites_[static_cast<std::size_t>(made.key)];
    if (kind == lock_kind::mutex || is_one_in(10)) {
        kind = one_of({lock_kind::shared_mutex, lock_kind::semaphore, lock_kind::latch});
    }
    choose_new_owner(made);
    made.mode = hold_mode::shared;
    // An owner that has a hold here and wants another one, or has not heard of its grant yet.
    const auto& holds = ledger_.holds_of(made.key);
    if (!holds.empty() && is_one_in(5)) {
        const auto chosen = std::next(holds.begin(), below(int(holds.size())));
        made.owner = chosen->first;
        made.session = chosen->second.by.session;
        made.is_instead = !is_one_in(3);
    }
    switch (kind) {
        case lock_kind::shared_mutex:
            made.capacity = everything;
            made.mode = one_of(
                {hold_mode::shared, hold_mode::shared, hold_mode::upgradeable, hold_mode::exclusive}
            );
            if (made.mode == hold_mode::shared) made.gives_way_to = holder_bits::waiting;
            if (made.mode == hold_mode::upgradeable) {
                made.gives_way_to = holder_bits::waiting | holder_bits::upgradeable;
            }
            if (made.mode == hold_mode::exclusive) made.permits = everything;
            break;
        case lock_kind::semaphore:
            made.capacity = is_one_in(12) ? places + 1 : places;
            made.permits = 1 + below(places);
            made.keeps_capacity = is_one_in(4);
            break;
        case lock_kind::latch:
            made.capacity = places;
            break;
        default:
            made.capacity = participants;
    }
}

void history_generator::set_operands(history_step& made) {
    const history_operation& operation = operations()[made.operation];
    const std::string_view name = operation.name;
    switch (operation.shape) {
        case step_shape::mutex_try:
            if (favourites_[static_cast<std::size_t>(made.key)] != lock_kind::mutex &&
                !is_one_in(8)) {
                made.key = 0;
            }
            choose_new_owner(made);
            made.hours = one_of({0, 0, 2, 20});
            made.term_hours = one_of({0, 0, 0, 4});
            if (name == "enqueue") queued_.push_back(made);
            break;
        case step_shape::holder_try:
            ask_for_a_place(made);
            break;
        case step_shape::mutex_hold:
            choose_hold(made, true);
            break;
        case step_shape::holder_hold:
            choose_hold(made, false);
            if (name == "arrive" && made.kind != lock_kind::latch) {
                made.operation = operation_named("release of a holder");
            }
            if (name == "reduce") {
                made.mode = hold_mode::shared;
                made.permits = made.kind == lock_kind::semaphore
                                   ? 1 + below(static_cast<int>(made.permits))
                                   : 1;
            }
            break;
        case step_shape::waiter:
            choose_waiter(made);
            break;
        case step_shape::key_alone:
            if (name == "change_kind") {
                made.kind = is_one_in(2) ? lock_kind::mutex : lock_kind::semaphore;
            }
            if (name == "resize") made.capacity = is_one_in(3) ? places + 1 : places;
            if (name == "pass") {
                const auto at =
                    std::find(favourites_.begin(), favourites_.end(), lock_kind::barrier);
                if (at == favourites_.end()) {
                    made.operation = operation_named("tally");
                } else {
                    made.key = static_cast<int>(at - favourites_.begin());
                }
            }
            if (name == "term passes") made.hours = one_of({2, 5, 9});
            break;
        case step_shape::session_alone:
            made.session = some_session();
            made.hours = one_of({2, 4, 6});
            if (name == "end") {
                made.hours = 0;
                made.removes_row = is_one_in(3);
            }
            if (name == "take_over") made.is_instead = is_one_in(4);
            // A session that is dead and removed is not started again: ids are used once.
            if (name == "start" && ledger_.may_be_gone(made.session)) {
                made.operation = operation_named("heartbeat");
            }
            break;
        case step_shape::everything:
            made.hours = one_of({1, 3, 6});
            break;
    }
}

}  // namespace leasehold::testing
