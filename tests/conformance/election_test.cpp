// leasehold::leader_election: one leader, growing terms, metadata of the term, followers.
#include <algorithm>
#include <atomic>

#include "conformance/suite.hpp"
#include "leasehold/leader_election.hpp"
#include "support/granted.hpp"
#include "support/thread.hpp"

namespace leasehold::testing {
namespace {

using election_suite = suite;

std::string metadata_of(const database& db, const key& name) {
    const auto seen = current_leader(db, name);
    return seen ? seen->metadata.value_or("(silent)") : "(nobody)";
}

TEST_F(election_suite, one_candidate_leads_and_the_other_takes_the_next_term) {
    session one{first_, calm("one")}, two{second_, calm("two")};
    const key name = fresh("office");
    EXPECT_FALSE(current_leader(first_, name));
    leader_election here{one, name}, there{two, name};
    auto leading = here.campaign();
    ASSERT_TRUE(leading);
    EXPECT_FALSE(is_granted(there.try_campaign()));
    EXPECT_FALSE(is_granted(there.campaign_for(30ms)));
    const auto seen = current_leader(second_, name);
    ASSERT_TRUE(seen);
    EXPECT_EQ(seen->token, leading->token());
    EXPECT_EQ(seen->owner, leading->lease().owner());
    EXPECT_EQ(seen->node_info.substr(0, 4), "one@");
    EXPECT_GT(seen->remaining, 59min);
    EXPECT_EQ(leading->resign(), release_outcome::released);
    auto next = there.try_campaign();
    ASSERT_TRUE(next);
    EXPECT_GT(next->token(), leading->token());
    EXPECT_EQ(leading->resign(), release_outcome::not_held);
}

TEST_F(election_suite, what_a_leader_proclaims_is_read_by_all_and_goes_with_its_term) {
    session one{first_, calm("one")}, two{second_, calm("two")};
    const key name = fresh("office");
    auto leading = leader_election{one, name}.try_campaign();
    EXPECT_EQ(metadata_of(second_, name), "(silent)");
    const std::string odd = "host:1 'quoted' \\ \n\t\xc3\xa4 \xf0\x9f\x90\x98";
    leading->proclaim(odd);
    EXPECT_EQ(metadata_of(second_, name), odd);
    leading->proclaim(odd);  // the same again is no change, and no error
    leading->proclaim(std::string(4000, 'x'));
    EXPECT_EQ(metadata_of(second_, name).size(), 4000U);
    leading->proclaim("");
    EXPECT_EQ(metadata_of(second_, name), "");
    leading->proclaim("mine");
    leading->resign();
    EXPECT_EQ(metadata_of(second_, name), "(nobody)");
    auto next = leader_election{two, name}.try_campaign();
    EXPECT_EQ(metadata_of(first_, name), "(silent)");
}

TEST_F(election_suite, a_new_leader_does_not_inherit_the_metadata_of_a_dead_one) {
    session dead{first_, calm("dead")}, heir{second_, calm("heir")};
    const key name = fresh("office");
    auto deposed = leader_election{dead, name}.try_campaign();
    deposed->proclaim("the dead one");
    expire(dead);
    EXPECT_EQ(metadata_of(second_, name), "(nobody)");
    auto leading = leader_election{heir, name}.try_campaign();
    ASSERT_TRUE(leading);
    EXPECT_EQ(metadata_of(second_, name), "(silent)");
    const auto refused = thrown_by([&] { deposed->proclaim("still me"); });
    ASSERT_TRUE(refused);
    EXPECT_EQ(refused->code(), errc::lease_lost);
    EXPECT_EQ(metadata_of(second_, name), "(silent)");
    EXPECT_EQ(deposed->why_lost(), loss_reason::taken_over);
}

TEST_F(election_suite, metadata_that_cannot_be_stored_everywhere_is_refused_before_it_is_sent) {
    session one{first_, calm("one")};
    auto leading = leader_election{one, fresh("office")}.try_campaign();
    for (const std::string& bad :
         {std::string(4001, 'x'), std::string("\xff"), std::string("a\0b", 3)}) {
        const auto refused = thrown_by([&] { leading->proclaim(bad); });
        ASSERT_TRUE(refused);
        EXPECT_EQ(refused->code(), errc::invalid_argument);
    }
    EXPECT_EQ(leading->why_lost(), loss_reason::none);
}

TEST_F(election_suite, a_leader_that_resigned_is_told_before_the_next_is_elected) {
    session one{first_, calm("one")}, two{second_, calm("two")};
    const key name = fresh("office");
    std::atomic<bool> is_over = false, was_early = false;
    std::int64_t ended_term = 0;
    election_settings telling;
    telling.on_lost = [&](fencing_token term, loss_reason why) {
        EXPECT_EQ(why, loss_reason::released);
        ended_term = term.number;
        is_over = true;
    };
    election_settings asking;
    asking.on_elected = [&](fencing_token) { was_early = !is_over; };
    leader_election here{one, name, telling}, there{two, name, asking};
    auto leading = here.campaign();
    thread candidate{[&] { EXPECT_TRUE(there.campaign_for(20s)); }};
    const auto term = leading->token();
    drop(leading);  // a destructor resigns, too
    candidate.join();
    EXPECT_FALSE(was_early);
    EXPECT_EQ(ended_term, term.number);
}

// Promise 5 for offices: the database is out of reach, and the deposed leader knows before anyone
// else is elected.
TEST_F(election_suite, a_leader_cut_off_is_told_before_the_next_is_elected) {
    const auto way = std::make_shared<gate>();
    database cut = current().open_through(way);
    session_settings told_early = calm("one");
    told_early.ttl = 9s;
    told_early.margin = 4s;  // what a slow machine may take to tell it
    told_early.heartbeat_every = 1s;
    session one{cut, told_early}, two{second_, calm("two")};
    const key name = fresh("office");
    std::atomic<bool> is_over = false, was_early = false;
    election_settings telling;
    telling.on_lost = [&](fencing_token, loss_reason why) {
        EXPECT_EQ(why, loss_reason::expired);
        is_over = true;
    };
    election_settings asking;
    asking.on_elected = [&](fencing_token) { was_early = !is_over; };
    auto leading = leader_election{one, name, telling}.campaign();
    ASSERT_TRUE(leading);
    way->close();
    auto next = leader_election{two, name, asking}.campaign_for(20s);
    way->open();
    ASSERT_TRUE(next);
    EXPECT_FALSE(was_early);
    EXPECT_TRUE(leading->lost().stop_requested());
    EXPECT_GT(next->token(), leading->token());
}

TEST_F(election_suite, a_deposed_leader_writes_nothing_under_its_term) {
    session one{first_, calm("one")};
    const key name = fresh("office");
    auto leading = leader_election{one, name}.try_campaign();
    ASSERT_TRUE(force_release(second_, name));
    transaction tx = first_.begin();
    const auto refused = thrown_by([&] { leading->lease().verify_in(tx); });
    ASSERT_TRUE(refused);
    EXPECT_EQ(refused->code(), errc::lease_lost);
}

TEST_F(election_suite, a_follower_sees_each_change_and_only_changes) {
    session one{first_, calm("one")}, two{second_, calm("two")};
    const key name = fresh("office");
    leader_watch watch{second_, name, {.min_poll = 2ms, .max_poll = 20ms}};
    EXPECT_TRUE(watch.next());
    EXPECT_FALSE(watch.leader());
    EXPECT_FALSE(watch.next_for(40ms));
    auto leading = leader_election{one, name}.try_campaign();
    EXPECT_TRUE(watch.next_for(20s));
    ASSERT_TRUE(watch.leader());
    EXPECT_EQ(watch.leader()->token, leading->token());
    EXPECT_EQ(watch.leader()->metadata, std::nullopt);
    leading->proclaim("here");
    EXPECT_TRUE(watch.next_for(20s));
    EXPECT_EQ(watch.leader()->metadata, "here");
    EXPECT_FALSE(watch.next_for(40ms));
    leading->resign();
    EXPECT_TRUE(watch.next_for(20s));
    EXPECT_FALSE(watch.leader());
    auto next = leader_election{two, name}.try_campaign();
    EXPECT_TRUE(watch.next_for(20s));
    ASSERT_TRUE(watch.leader());
    EXPECT_EQ(watch.leader()->token, next->token());
}

TEST_F(election_suite, a_follower_and_a_candidate_can_be_cancelled) {
    session one{first_, calm("one")}, two{second_, calm("two")};
    const key name = fresh("office");
    auto leading = leader_election{one, name}.try_campaign();
    leader_watch watch{second_, name};
    EXPECT_TRUE(watch.next());
    std::stop_source cancel;
    thread canceller{[&] { cancel.request_stop(); }};
    EXPECT_FALSE(watch.next(cancel.get_token()));
    EXPECT_FALSE(is_granted(leader_election{two, name}.campaign(cancel.get_token())));
}

// A follower waits for a database that is away, and goes on when it is back.
TEST_F(election_suite, a_follower_outlives_an_outage) {
    const auto way = std::make_shared<gate>();
    session one{first_, calm("one")};
    const key name = fresh("office");
    leader_watch watch{current().open_through(way), name, {.min_poll = 2ms, .max_poll = 20ms}};
    EXPECT_TRUE(watch.next());
    way->close();
    EXPECT_TRUE(thrown_by([&] { watch.next_for(40ms); }));
    auto leading = leader_election{one, name}.try_campaign();
    thread repair{[&] {
        EXPECT_TRUE(eventually([&] { return way->refused() > 3; }));
        way->open();
    }};
    EXPECT_TRUE(watch.next_for(20s));
    EXPECT_TRUE(watch.leader());
}

// Promises 1 and 2 by brute force.
TEST_F(election_suite, eight_candidates_never_lead_at_once_and_terms_only_grow) {
    const key name = fresh("office");
    constexpr int candidates = 8, terms_each = 6;
    std::atomic<int> leaders = 0;
    std::vector<std::int64_t> terms;
    {
        std::vector<thread> threads;
        for (int each = 0; each < candidates; ++each) {
            threads.emplace_back([&] {
                database own = current().open({});
                session mine{own, calm("candidate")};
                leader_election election{mine, name, {.min_poll = 1ms, .max_poll = 20ms}};
                for (int term = 0; term < terms_each; ++term) {
                    auto leading = election.campaign();
                    EXPECT_EQ(++leaders, 1);
                    terms.push_back(leading->token().number);
                    leading->proclaim(std::to_string(term));
                    --leaders;
                }
            });
        }
    }
    EXPECT_EQ(terms.size(), static_cast<std::size_t>(candidates * terms_each));
    EXPECT_TRUE(std::is_sorted(terms.begin(), terms.end()));
    EXPECT_EQ(std::adjacent_find(terms.begin(), terms.end()), terms.end());
}

TEST_F(election_suite, a_term_goes_on_in_another_process) {
    session one{first_, calm("one")}, two{second_, calm("two")};
    const key name = fresh("office");
    std::vector<std::string> told;
    const auto settings_of = [&](const std::string& who) {
        election_settings settings;
        settings.on_elected = [&told, who](fencing_token) { told.push_back(who + " elected"); };
        settings.on_lost = [&told, who](fencing_token, loss_reason why) {
            told.push_back(who + " " + name_of(why));
        };
        return settings;
    };
    leader_election here{one, name, settings_of("one")}, there{two, name, settings_of("two")};
    auto leading = here.try_campaign();
    ASSERT_TRUE(leading);
    leading->proclaim("10.0.0.7");
    const auto term = leading->token();
    const std::string parcel = detach(std::move(*leading)).text();
    EXPECT_FALSE(is_granted(there.try_campaign())) << "it is not vacant";
    auto next = there.adopt(detached_lease::from_text(parcel));
    ASSERT_TRUE(next);
    EXPECT_EQ(next->token(), term);
    EXPECT_EQ(metadata_of(first_, name), "10.0.0.7");
    EXPECT_TRUE(current_leader(first_, name)->node_info.starts_with("two@"));
    next->proclaim("10.0.0.8");
    EXPECT_EQ(metadata_of(first_, name), "10.0.0.8");
    session three{first_, calm("three")};
    EXPECT_FALSE(is_granted(leader_election{three, name}.adopt(detached_lease::from_text(parcel))));
    EXPECT_EQ(next->resign(), release_outcome::released);
    EXPECT_EQ(
        told,
        (std::vector<std::string>{"one elected", "one released", "two elected", "two released"})
    );
}

TEST_F(election_suite, an_office_is_detached_for_a_term_and_adopted_by_its_own_name_alone) {
    session one{first_, calm("one")}, two{second_, calm("two")};
    const key name = fresh("office");
    auto leading = leader_election{one, name}.try_campaign();
    ASSERT_TRUE(leading);
    const auto term = leading->token();
    const detached_lease parcel = detach_for(std::move(*leading), 10min);
    one.end();
    const auto failure = thrown_by([&] {
        EXPECT_FALSE(is_granted(leader_election{two, fresh("other")}.adopt(parcel)));
    });
    ASSERT_TRUE(failure);
    EXPECT_EQ(failure->code(), errc::invalid_argument);
    auto next = leader_election{two, name}.adopt(parcel);
    ASSERT_TRUE(next);
    EXPECT_EQ(next->token(), term);
}

TEST_F(election_suite, bad_settings_are_refused) {
    session one{first_, calm("one")};
    const auto code_of = [](const auto& make) {
        const auto failure = thrown_by(make);
        return failure ? failure->code() : errc{};
    };
    const election_settings never{.min_poll = 0ms};
    EXPECT_EQ(code_of([&] { leader_election(one, "k", never); }), errc::invalid_argument);
    const leader_watch_settings backwards{.min_poll = 20ms, .max_poll = 10ms};
    EXPECT_EQ(code_of([&] { leader_watch(first_, "k", backwards); }), errc::invalid_argument);
}

}  // namespace
}  // namespace leasehold::testing
