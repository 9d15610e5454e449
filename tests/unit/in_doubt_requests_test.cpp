// The list of requests in doubt alone: which are asked about, in which order, and until when.
#include "session/in_doubt_requests.hpp"

#include <string>

#include "support/told_events.hpp"
#include "unit/model_fixture.hpp"

namespace leasehold::testing {
namespace {

class in_doubt_requests_test : public ::testing::Test {
protected:
    using names = std::vector<std::string>;

    in_doubt_request request(
        const char* name, std::chrono::seconds until, std::chrono::seconds not_before = 0s
    ) const {
        return {
            name, owner_id::random(), now_ + until, lock_kind::mutex, {}, now_ + not_before, now_};
    }
    static names names_of(const in_doubt_requests::list& some) {
        names all;
        for (const auto& each : some) all.push_back(each.name.name());
        return all;
    }

    const local_clock::time_point now_ = local_clock::now();
    in_doubt_requests list_;
};

TEST_F(in_doubt_requests_test, a_request_goes_when_it_was_asked_about_after_its_time) {
    list_.add(request("short", 10s));
    list_.add(request("long", 20s));
    EXPECT_EQ(names_of(list_.note_asked(list_.due(now_ + 10s), 2, now_ + 10s, false)), names{});
    EXPECT_EQ(
        names_of(list_.note_asked(list_.due(now_ + 11s), 2, now_ + 11s, false)), names{"short"}
    );
    EXPECT_EQ(names_of(list_.all()), names{"long"});
    EXPECT_EQ(
        names_of(list_.note_asked(list_.due(now_ + 21s), 1, now_ + 21s, false)), names{"long"}
    );
    EXPECT_TRUE(list_.is_empty());
    EXPECT_TRUE(list_.were_any());
}

TEST_F(in_doubt_requests_test, a_request_that_was_not_asked_about_stays_and_comes_first) {
    for (const char* each : {"a", "b", "c"}) list_.add(request(each, 10s));
    EXPECT_EQ(names_of(list_.note_asked(list_.due(now_ + 11s), 1, now_ + 11s, false)), names{"a"});
    EXPECT_EQ(names_of(list_.due(now_ + 12s)), (names{"b", "c"}));
}

TEST_F(in_doubt_requests_test, the_next_round_begins_behind_the_request_that_failed) {
    for (const char* each : {"a", "b", "c"}) list_.add(request(each, 10s));
    EXPECT_EQ(names_of(list_.note_asked(list_.due(now_), 1, now_, true)), names{});
    EXPECT_EQ(names_of(list_.due(now_)), (names{"c", "a", "b"}));
}

TEST_F(in_doubt_requests_test, a_request_whose_time_has_not_come_keeps_no_other_waiting) {
    list_.add(request("later", 10s, 5s));
    list_.add(request("now", 10s));
    EXPECT_EQ(names_of(list_.due(now_)), names{"now"});
    EXPECT_EQ(names_of(list_.due(now_ + 5s)), (names{"now", "later"}));
}

TEST_F(in_doubt_requests_test, an_answer_finds_nothing_to_note_when_an_end_has_taken_all) {
    list_.add(request("a", 10s));
    const auto due = list_.due(now_ + 11s);
    EXPECT_EQ(names_of(list_.take_all()), names{"a"});
    EXPECT_EQ(names_of(list_.note_asked(due, 1, now_ + 11s, false)), names{});
    EXPECT_TRUE(list_.were_any());
}

TEST_F(in_doubt_requests_test, both_owners_of_a_pending_lease_are_to_be_released) {
    in_doubt_request pending = request("a", 0s);
    pending.then = owner_id::random();
    list_.add(pending);
    EXPECT_TRUE(list_.will_release(pending.owner));
    EXPECT_TRUE(list_.will_release(*pending.then));
    EXPECT_FALSE(list_.will_release(owner_id::random()));
}

TEST_F(in_doubt_requests_test, an_observer_is_told_whether_a_release_found_something) {
    const memory_database model;
    const auto heard = std::make_shared<told_events>();
    database_settings settings;
    settings.observer = heard;
    const database db = model.open(settings);
    const auto on = model.connect();
    const auto stores = model.stores();
    const session_id holder = session_id::random();
    stores->get<session_store>().start(*on, {holder, "holder", 1h});
    in_doubt_request held = request("held", 0s), free = request("free", 0s);
    stores->get<hold_store>().try_acquire(*on, {held.name, held.owner, holder, "", {}});
    ASSERT_TRUE(model.is_held(held.name));
    for (in_doubt_request* each : {&held, &free}) {
        each->release(*db.inner(), *on, *stores);
        each->tell_settled(*db.inner());
    }
    EXPECT_FALSE(model.is_held(held.name));
    const auto of_held = heard->only(event_kind::doubt_settled, "held");
    const auto of_free = heard->only(event_kind::doubt_settled, "free");
    ASSERT_TRUE(of_held && of_free);
    EXPECT_EQ(of_held->reason, event_reason::released);
    EXPECT_EQ(of_free->reason, event_reason::not_granted);
    held.told_at = std::nullopt;
    held.tell_settled(*db.inner(), event_reason::given_up);
    EXPECT_EQ(heard->count(event_kind::doubt_settled), 2) << "nobody was told of its doubt";
}

}  // namespace
}  // namespace leasehold::testing
