// The views: lists and descriptions. A key that several can hold is described alone, with all its
// holders, and with the arrivals at it when nobody holds it.
#include "leasehold/inspect.hpp"

#include <algorithm>
#include <thread>

#include "conformance/shared_suite.hpp"
#include "leasehold/latch.hpp"
#include "leasehold/semaphore.hpp"
#include "locks/waiter_store.hpp"
#include "support/granted.hpp"
#include "support/thread.hpp"

namespace leasehold::testing {
namespace {

class inspect_suite : public suite {
protected:
    std::vector<lock_info> listed(const key& name) const {
        std::vector<lock_info> found = list_locks(second_, name.name());
        std::erase_if(found, [&](const lock_info& each) { return each.key != name.name(); });
        return found;
    }

    session one_{first_, calm("one")};
    session two_{second_, calm("two")};
    const key name_ = fresh("k");
};

TEST_F(inspect_suite, the_list_is_by_prefix_in_byte_order_and_only_of_what_is_held) {
    const std::string stem = fresh("list");
    std::vector<acquisition> held;
    for (const char* tail : {"/b", "/a", "/\xc3\xa4", "/%", "/_x", "/B"}) {
        held.push_back(mutex{one_, stem + tail}.try_acquire());
    }
    { auto released = mutex{one_, stem + "/gone"}.try_acquire(); }
    auto outside = mutex{one_, stem + "x"}.try_acquire();
    auto behind = mutex{one_, stem + "0"}.try_acquire();  // the first key after all with "/"
    std::vector<std::string> found;
    for (const auto& each : list_locks(second_, stem + "/")) {
        found.push_back(each.key.substr(stem.size()));
        EXPECT_TRUE(each.is_held);
        EXPECT_GE(each.held_for, 0us);
        EXPECT_EQ(each.session, one_.id());
    }
    EXPECT_EQ(found, (std::vector<std::string>{"/%", "/B", "/_x", "/a", "/b", "/\xc3\xa4"}));
    EXPECT_EQ(list_locks(second_, stem + "/_").size(), 1u);
    EXPECT_EQ(list_locks(second_, stem + "/%").size(), 1u);
}

TEST_F(inspect_suite, a_long_list_comes_whole) {
    const std::string stem = fresh("long");
    std::vector<acquisition> held;
    constexpr std::size_t count = 1203;  // more than a page
    for (std::size_t each = 0; each < count; ++each) {
        held.push_back(mutex{one_, stem + std::to_string(each)}.try_acquire());
    }
    EXPECT_EQ(list_locks(second_, stem).size(), count);
}

// Mutexes, a semaphore of three holders, a latch at which somebody has arrived, and a waiter.
TEST_F(inspect_suite, pages_put_together_are_the_list_and_are_counted) {
    const std::string stem = fresh("pages");
    std::vector<acquisition> held;
    for (const char* tail : {"/a", "/c", "/e", "/g"}) {
        held.push_back(mutex{one_, stem + tail}.try_acquire());
    }
    semaphore permits{one_, stem + "/d", 3};
    for (int each = 0; each < 3; ++each) held.push_back(permits.try_acquire());
    latch door{two_, stem + "/f", 2};
    auto place = door.try_join();
    ASSERT_TRUE(place);
    door.arrive(std::move(*place));
    for (const acquisition& each : held) ASSERT_TRUE(each);

    const auto all = list_locks(second_, stem + "/");
    ASSERT_EQ(all.size(), 8U);
    for (const int limit : {1, 2, 3, 4, 5, 8, 9, 1000}) {
        std::vector<std::pair<std::string, fencing_token>> found;
        lock_filter filter{.prefix = stem + "/", .limit = limit};
        do {
            const auto some = list_locks(second_, filter);
            filter.after = some.next;
            ASSERT_LE(some.size(), static_cast<std::size_t>(limit));
            ASSERT_FALSE(some.empty());
            for (const lock_info& each : some) {
                found.emplace_back(each.key, each.token);
                EXPECT_EQ(each.holders, each.key == stem + "/d" ? 3 : each.is_held ? 1 : 0);
            }
        } while (filter.after);
        std::vector<std::pair<std::string, fencing_token>> wanted;
        std::size_t of_one_key = 0;
        for (const lock_info& each : all) {
            of_one_key = !wanted.empty() && wanted.back().first == each.key ? of_one_key + 1 : 1;
            if (of_one_key <= static_cast<std::size_t>(limit)) {
                wanted.emplace_back(each.key, each.token);
            }
        }
        EXPECT_EQ(found, wanted) << "in pages of " << limit;
    }
    EXPECT_TRUE(list_locks(second_, {.prefix = stem + "/x", .limit = 1}).empty());
    EXPECT_THROW(list_locks(second_, {.limit = 0}), error);
    EXPECT_THROW(list_locks(second_, {.limit = 1001}), error);

    const lock_counts counted = count_locks(second_, stem + "/");
    EXPECT_EQ(counted.keys, 5);
    EXPECT_EQ(counted.holders, 7);
    EXPECT_EQ(counted.waiters, 0);
    EXPECT_EQ(count_locks(second_, stem + "/x").keys, 0);
}

TEST_F(inspect_suite, those_who_wait_are_counted_while_they_live) {
    auto held = mutex{one_, name_}.try_acquire();
    ASSERT_TRUE(held);
    std::stop_source enough;
    thread waiting{[&] {
        EXPECT_FALSE(is_granted(mutex{two_, name_}.acquire(enough.get_token())));
    }};
    EXPECT_TRUE(eventually([&] { return count_locks(second_, name_.name()).waiters == 1; }));
    enough.request_stop();
    waiting.join();
    EXPECT_EQ(count_locks(second_, name_.name()).waiters, 0);
}

TEST_F(inspect_suite, force_by_token_leaves_another_grant_alone) {
    auto first = mutex{one_, name_}.try_acquire();
    ASSERT_TRUE(first);
    const fencing_token shown = first->token();
    first->release();
    auto second = mutex{two_, name_}.try_acquire();
    ASSERT_TRUE(second);
    EXPECT_FALSE(force_release(second_, name_, shown));
    EXPECT_FALSE(force_release(second_, name_, fencing_token{0}));
    EXPECT_FALSE(force_release(second_, name_, fencing_token{-1}));
    EXPECT_EQ(describe(second_, name_)->token, second->token());
    const auto freed = force_release(second_, name_, second->token());
    ASSERT_TRUE(freed);
    EXPECT_EQ(freed->token, second->token());
    EXPECT_FALSE(describe(second_, name_)->is_held);
    EXPECT_FALSE(force_release(second_, name_, second->token())) << "it is free";

    semaphore permits{one_, name_, 3};
    auto permit = permits.try_acquire();
    ASSERT_TRUE(permit);
    EXPECT_FALSE(force_release(second_, name_, permit->token())) << "no mutex";
    EXPECT_EQ(list_holders(second_, name_).size(), 1U);
}

TEST_F(inspect_suite, describing_an_unknown_key_and_forcing_a_free_one_change_nothing) {
    EXPECT_FALSE(describe(first_, fresh("never")));
    EXPECT_FALSE(force_release(first_, fresh("never")));
    { auto held = mutex{one_, name_}.try_acquire(); }
    const auto before = describe(first_, name_)->token;
    EXPECT_FALSE(force_release(first_, name_));
    EXPECT_EQ(describe(first_, name_)->token, before);
}

TEST_F(inspect_suite, those_who_wait_are_listed_in_their_order) {
    EXPECT_TRUE(list_waiters(second_, name_).empty());
    auto held = mutex{one_, name_}.try_acquire();
    ASSERT_TRUE(held);
    session dying{second_, calm("dying")};
    std::stop_source enough;
    std::vector<thread> waiting;
    std::size_t count = 0;
    for (session* const each : {&two_, &one_, &dying}) {
        waiting.emplace_back([&, each] {
            try {
                EXPECT_FALSE(is_granted(mutex{*each, name_}.acquire(enough.get_token())));
            } catch (const error& failure) {
                EXPECT_EQ(failure.code(), errc::session_lost) << failure.what();
            }
        });
        ++count;
        ASSERT_TRUE(eventually([&] { return list_waiters(first_, name_).size() == count; }));
    }
    const auto all = list_waiters(first_, name_);
    EXPECT_EQ(all[0].session, two_.id());
    EXPECT_EQ(all[1].session, one_.id());
    EXPECT_EQ(all[2].session, dying.id());
    EXPECT_TRUE(all[0].node_info.starts_with("two@")) << all[0].node_info;
    EXPECT_GE(all[0].waits_for, 0us);
    EXPECT_LT(all[0].waits_for, 1h);
    EXPECT_TRUE(list_waiters(first_, key{name_.name() + "x"}).empty());
    expire(dying);
    EXPECT_EQ(list_waiters(first_, name_).size(), 2U) << "the dead wait no more";
    enough.request_stop();
    for (thread& each : waiting) each.join();
    EXPECT_TRUE(list_waiters(first_, name_).empty());
}

TEST_F(inspect_suite, queues_of_many_keys_are_one_list_in_the_order_of_keys_and_of_each_queue) {
    const std::string stem = fresh("queues");
    std::vector<acquisition> held;
    std::stop_source enough;
    std::vector<thread> waiting;
    const auto count = [&] { return list_waiters(first_, {.prefix = stem + "/"}).size(); };
    for (const char* tail : {"/b", "/a", "x"}) {
        const key name{stem + tail};
        held.push_back(mutex{one_, name}.try_acquire());
        ASSERT_TRUE(held.back());
        for (session* const each : {&two_, &one_}) {
            const std::size_t before = list_waiters(first_, name).size();
            waiting.emplace_back([&, each, name] {
                EXPECT_FALSE(is_granted(mutex{*each, name}.acquire(enough.get_token())));
            });
            ASSERT_TRUE(eventually([&] { return list_waiters(first_, name).size() > before; }));
        }
    }
    const auto found = list_waiters(first_, {.prefix = stem + "/"});
    ASSERT_EQ(found.size(), 4U);
    for (std::size_t at = 0; at < found.size(); ++at) {
        EXPECT_EQ(found[at].key, stem + (at < 2 ? "/a" : "/b"));
        EXPECT_EQ(found[at].session, at % 2 == 0 ? two_.id() : one_.id()) << "by turn, not by id";
        EXPECT_GE(found[at].waits_for, 0us);
        EXPECT_LT(found[at].waits_for, 1h);
    }
    EXPECT_TRUE(found[0].node_info.starts_with("two@")) << found[0].node_info;
    const auto alone = list_waiters(first_, key{stem + "/a"});
    EXPECT_EQ(alone.at(1).owner, found[1].owner);
    EXPECT_EQ(alone.at(1).key, stem + "/a");
    EXPECT_EQ(list_waiters(first_, {.prefix = stem}).size(), 6U);
    enough.request_stop();
    for (thread& each : waiting) each.join();
    EXPECT_EQ(count(), 0U);
}

TEST_F(inspect_suite, pages_of_queues_go_on_within_a_key) {
    const std::string stem = fresh("page");
    std::vector<std::pair<std::string, std::int64_t>> places;
    first_.inner()->use([&](connection& on, store_set& stores) {
        for (const char* tail : {"/a", "/b"}) {
            const key name{stem + tail};
            const auto wanted = [&] {
                return acquire_request{name, identity::random(), one_.id(), "page", std::nullopt};
            };
            EXPECT_EQ(
                stores.get<hold_store>().try_acquire(on, wanted()).status, acquire_status::granted
            );
            for (int each = 0; each < 3; ++each) stores.get<waiter_store>().enqueue(on, wanted());
        }
        std::string last;
        std::int64_t ticket = 0;
        while (true) {
            const auto page = stores.get<waiter_store>().list_all(on, stem, last, ticket, 2);
            for (const queued_waiter& each : page) places.emplace_back(each.info.key, each.ticket);
            if (page.empty()) break;
            EXPECT_EQ(page.size(), 2U);
            last = page.back().info.key;
            ticket = page.back().ticket;
        }
    });
    EXPECT_EQ(places.size(), 6U);
    EXPECT_TRUE(std::is_sorted(places.begin(), places.end()));
    EXPECT_EQ(std::adjacent_find(places.begin(), places.end()), places.end()) << "one came twice";
}

TEST_F(inspect_suite, free_keys_have_their_last_holder_and_those_that_are_held_are_left_out) {
    const std::string stem = fresh("free");
    const auto let_go = [&](const char* tail) {
        auto got = mutex{one_, stem + tail}.try_acquire();
        return token_of(got);
    };
    const auto at_b = let_go("/b");
    const auto at_a = let_go("/a");
    let_go("x");
    auto held = mutex{one_, stem + "/held"}.try_acquire();
    auto permit = semaphore{two_, stem + "/permits", 2}.try_acquire(1);
    { auto gone = semaphore{two_, stem + "/semaphore", 2}.try_acquire(1); }
    latch counted{one_, stem + "/latch", 2};
    auto place = counted.try_join();
    ASSERT_TRUE(held && permit && place);
    counted.arrive(std::move(*place));
    session dying{second_, calm("dying")};
    auto lost = mutex{dying, stem + "/lost"}.try_acquire();
    ASSERT_TRUE(lost);
    expire(dying);

    const auto found = list_free_keys(first_, {.prefix = stem + "/"});
    std::vector<std::string> names;
    for (const lock_info& each : found) {
        names.push_back(each.key.substr(stem.size()));
        EXPECT_FALSE(each.is_held);
        EXPECT_FALSE(each.owner);
        ASSERT_TRUE(each.free_for);
        EXPECT_GE(*each.free_for, 0us);
    }
    ASSERT_EQ(names, (std::vector<std::string>{"/a", "/b", "/lost", "/semaphore"}));
    EXPECT_EQ(found[0].token.number, at_a);
    EXPECT_EQ(found[1].token.number, at_b);
    EXPECT_TRUE(found[0].node_info.starts_with("one@")) << found[0].node_info;
    EXPECT_LT(*found[0].free_for, 1h);
    EXPECT_TRUE(found[2].node_info.starts_with("dying@")) << found[2].node_info;
    EXPECT_GT(*found[2].free_for, 1h) << "since it died, not since it was granted";
    EXPECT_EQ(found[3].kind, lock_kind::semaphore);
    for (const lock_info& each : list_locks(first_, stem + "/")) {
        EXPECT_EQ(std::count(names.begin(), names.end(), each.key.substr(stem.size())), 0);
    }
}

TEST_F(inspect_suite, free_keys_come_in_pages) {
    const std::string stem = fresh("pages");
    for (const char* tail : {"/1", "/2", "/3", "/4", "/5"}) {
        auto got = mutex{one_, stem + tail}.try_acquire();
        ASSERT_TRUE(got);
    }
    auto held = mutex{one_, stem + "/3"}.try_acquire();
    std::string all;
    lock_filter filter{.prefix = stem, .limit = 2};
    std::size_t pages = 0;
    do {
        const auto some = list_free_keys(first_, filter);
        EXPECT_EQ(some.size(), 2U);
        for (const lock_info& each : some) all += each.key.substr(stem.size());
        filter.after = some.next;
        ++pages;
    } while (filter.after);
    EXPECT_EQ(all, "/1/2/4/5");
    EXPECT_EQ(pages, 2U);
    for (const int limit : {0, -1, 1001}) {
        const auto refused = thrown_by([&] { list_free_keys(first_, {.limit = limit}); });
        ASSERT_TRUE(refused) << limit;
        EXPECT_EQ(refused->code(), errc::invalid_argument);
    }
}

TEST_F(inspect_suite, forced_with_a_token_only_that_grant_is_freed) {
    auto before = mutex{one_, name_}.try_acquire();
    const fencing_token first{token_of(before)};
    before->release();
    auto held = mutex{two_, name_}.try_acquire();
    const fencing_token now{token_of(held)};
    ASSERT_LT(first, now);
    EXPECT_FALSE(force_release(first_, name_, first)) << "its grant has gone";
    EXPECT_FALSE(force_release(first_, name_, fencing_token{now.number + 1}));
    EXPECT_EQ(describe(first_, name_)->token, now);
    EXPECT_TRUE(describe(first_, name_)->is_held);
    EXPECT_TRUE(held->verify()) << "not disturbed";
    const auto freed = force_release(first_, name_, now);
    ASSERT_TRUE(freed);
    EXPECT_EQ(freed->token, now);
    EXPECT_EQ(freed->owner, held->owner());
    EXPECT_FALSE(describe(first_, name_)->is_held);
    EXPECT_FALSE(force_release(first_, name_, now)) << "it is free";

    auto permit = semaphore{one_, fresh("permits"), 2}.try_acquire(1);
    ASSERT_TRUE(permit);
    EXPECT_FALSE(force_release(first_, permit->key(), permit->token()));
    EXPECT_EQ(list_holders(first_, permit->key()).size(), 1U);
}

TEST_F(inspect_suite, the_holders_of_one_key_are_not_those_of_a_longer_one) {
    const key longer{name_.name() + "/more"};
    EXPECT_TRUE(list_holders(second_, name_).empty());
    auto mine = semaphore{one_, name_, 5}.try_acquire(2);
    auto theirs = semaphore{two_, name_, 5}.try_acquire(1);
    auto other = semaphore{one_, longer, 9}.try_acquire(7);
    ASSERT_TRUE(mine && theirs && other);
    const auto found = list_holders(first_, name_);
    ASSERT_EQ(found.size(), 2U);
    EXPECT_EQ(found[0].session, one_.id());
    EXPECT_EQ(found[1].session, two_.id());
    EXPECT_EQ(found[0].permits, 2);
    for (const lock_info& each : found) {
        EXPECT_EQ(each.key, name_.name());
        EXPECT_EQ(each.holders, 2);
    }
    EXPECT_EQ(mine->release(), release_outcome::released);
    EXPECT_EQ(theirs->release(), release_outcome::released);
    EXPECT_TRUE(list_holders(second_, name_).empty());

    auto alone = mutex{two_, name_}.try_acquire();
    ASSERT_TRUE(alone);
    const auto one = list_holders(second_, name_);
    ASSERT_EQ(one.size(), 1U);
    EXPECT_EQ(one[0].owner, alone->owner());
    EXPECT_EQ(one[0].holders, 1);
}

TEST_F(inspect_suite, a_semaphore_says_how_many_of_its_permits_are_in_use) {
    auto mine = semaphore{one_, name_, 5}.try_acquire(2);
    auto theirs = semaphore{two_, name_, 5}.try_acquire(1);
    ASSERT_TRUE(mine && theirs);
    const auto seen = describe(second_, name_);
    ASSERT_TRUE(seen);
    EXPECT_EQ(seen->permits, 2);
    EXPECT_EQ(seen->permits_in_use, 3);
    EXPECT_EQ(seen->capacity, 5);
    for (const lock_info& each : listed(name_)) {
        EXPECT_EQ(each.permits_in_use, 3);
        EXPECT_EQ(each.capacity, 5);
        EXPECT_EQ(each.arrived, 0);
    }
    expire(one_);
    const auto left = describe(second_, name_);
    ASSERT_TRUE(left);
    EXPECT_EQ(left->permits_in_use, 1) << "the dead have none";
}

TEST_F(inspect_suite, a_latch_where_somebody_has_arrived_and_nobody_is_present_is_no_free_mutex) {
    latch mine{one_, name_, 2};
    latch other{two_, name_, 2};
    auto first = mine.try_join();
    ASSERT_TRUE(first);
    EXPECT_EQ(listed(name_).at(0).arrived, 0);
    mine.arrive(std::move(*first));
    const auto expect_arrived = [&](std::int64_t arrived) {
        const auto seen = describe(second_, name_);
        ASSERT_TRUE(seen);
        const auto all = listed(name_);
        ASSERT_EQ(all.size(), 1U);
        for (const lock_info& each : {*seen, all[0]}) {
            EXPECT_FALSE(each.is_held);
            EXPECT_EQ(each.kind, lock_kind::latch);
            EXPECT_EQ(each.arrived, arrived);
            EXPECT_EQ(each.capacity, 2);
            EXPECT_EQ(each.holders, 0);
        }
        EXPECT_TRUE(list_holders(second_, name_).empty());
    };
    expect_arrived(1);
    auto second = other.try_join();
    ASSERT_TRUE(second);
    EXPECT_EQ(describe(second_, name_)->arrived, 1);
    EXPECT_TRUE(describe(second_, name_)->is_held);
    other.arrive(std::move(*second));
    expect_arrived(2);
}

TEST_F(inspect_suite, force_says_which_arrivals_it_has_forgotten) {
    latch mine{one_, name_, 2};
    for (int arrived = 1; arrived <= 2; ++arrived) {
        auto place = mine.try_join();
        ASSERT_TRUE(place);
        mine.arrive(std::move(*place));
        ASSERT_EQ(mine.tally().arrived, arrived);
    }
    const auto freed = force_release(second_, name_);
    ASSERT_TRUE(freed);
    EXPECT_FALSE(freed->is_held);
    EXPECT_EQ(freed->kind, lock_kind::latch);
    EXPECT_EQ(freed->arrived, 2);
    EXPECT_EQ(freed->capacity, 2);
    EXPECT_FALSE(mine.tally().is_open);
    EXPECT_FALSE(force_release(second_, name_)) << "there is nothing left";
    EXPECT_TRUE(listed(name_).empty());

    auto place = mine.try_join();
    ASSERT_TRUE(place);
    mine.arrive(std::move(*place));
    auto late = mine.try_join();
    ASSERT_TRUE(late);
    const auto both = force_release(second_, name_);
    ASSERT_TRUE(both);
    EXPECT_TRUE(both->is_held);
    EXPECT_EQ(both->owner, late->owner());
    EXPECT_EQ(both->arrived, 1);
}

class inspect_writers_suite : public shared_mutex_suite {};

TEST_F(inspect_writers_suite, a_waiting_writer_is_counted_and_one_that_has_given_up_is_not) {
    auto reading = mine_.try_acquire_shared();
    ASSERT_TRUE(reading);
    EXPECT_EQ(describe(first_, name_)->waiters, 0);
    std::stop_source enough;
    thread writer{[&] { EXPECT_FALSE(is_granted(other_.acquire(enough.get_token()))); }};
    EXPECT_TRUE(eventually([&] { return describe(first_, name_)->waiters == 1; }));
    const auto all = list_locks(first_, name_.name());
    ASSERT_EQ(all.size(), 1U) << "who waits holds nothing";
    EXPECT_EQ(all[0].waiters, 1);
    enough.request_stop();
    writer.join();
    EXPECT_EQ(describe(first_, name_)->waiters, 0);
}

}  // namespace
}  // namespace leasehold::testing
