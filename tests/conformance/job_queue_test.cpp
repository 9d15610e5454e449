// Operations on jobs of any worker: promoted, looked for, cancelled, begun again, listed, removed.
#include "conformance/job_suite.hpp"

namespace leasehold::testing {
namespace {

class job_queue_suite : public job_suite {
protected:
    static void age(job_id id, std::chrono::microseconds by) { current().age_job(id, by); }
    std::vector<job_id> listed(const job_filter& filter) const {
        std::vector<job_id> ids;
        for (const job_info& each : list_jobs(first_, filter)) ids.push_back(each.id);
        return ids;
    }
    std::int64_t prune(int max_rows) const {
        return with_queues([&](connection& on, job_queue_store& queues) {
            return queues.prune(on, max_rows, 0);
        });
    }
    queue_info described() const {
        return with_queues([&](connection& on, job_queue_store& queues) {
            return queues.describe_queue(on, queue_);
        });
    }
    bool is_named(const std::string& name) const {
        return with_queues([&](connection& on, job_queue_store& queues) {
            const auto names = queues.queue_names(on);
            EXPECT_TRUE(std::is_sorted(names.begin(), names.end()));
            return std::ranges::count(names, name) == 1;
        });
    }
    // Ended jobs, kept.
    job_id ended(job_step step, const new_job& what = {}) const {
        const job_id id = enqueue(what);
        EXPECT_TRUE(one_.finish(end_of(one_.claim_one(), step, 0s, "words")));
        return id;
    }
    static constexpr job_id unknown_ = job_id{1} << 60;
};

// --------------------------------------------------------------------------- promote and look

TEST_F(job_queue_suite, what_is_due_is_made_available_and_nothing_else) {
    const job_id later = enqueue(delayed(3h)), due = enqueue(delayed(1h));
    const job_id failed = enqueue();
    EXPECT_TRUE(one_.fail(one_.claim_one(), 1h));
    EXPECT_EQ(promote(), 0);
    age(later, 2h);
    age(due, 2h);
    age(failed, 2h);
    EXPECT_EQ(promote(), 2);
    EXPECT_EQ(state(due), job_state::available);
    EXPECT_EQ(state(failed), job_state::available);
    EXPECT_EQ(state(later), job_state::scheduled);
    EXPECT_EQ(info(due).due_in, 0s);
    EXPECT_EQ(promote(), 0);
    EXPECT_EQ(ids_of(one_.claim(10)), (std::vector{due, failed}));
}

TEST_F(job_queue_suite, what_is_due_longest_is_made_available_first) {
    std::vector<job_id> ids;
    for (const auto delay : {50min, 10min, 40min, 20min, 30min})
        ids.push_back(enqueue(delayed(delay)));
    for (const job_id each : ids) age(each, 2h);
    EXPECT_EQ(promote(2), 2);
    EXPECT_EQ(ids_of(one_.claim(10)), (std::vector{ids[1], ids[3]}));
    EXPECT_EQ(promote(2), 2);
    EXPECT_EQ(ids_of(one_.claim(10)), (std::vector{ids[2], ids[4]}));
    EXPECT_EQ(promote(2), 1);
}

TEST_F(job_queue_suite, a_look_says_what_there_is_to_do_in_each_queue) {
    const std::string nothing = fresh("nothing");
    const auto looked = [&] {
        return with_queues([&](connection& on, job_queue_store& queues) {
            return queues.look(on, {nothing, queue_, nothing, queue_});
        });
    };
    auto seen = looked();
    ASSERT_EQ(seen.size(), 4U);
    EXPECT_FALSE(seen[1].has_available || seen[1].next_due_in || seen[1].is_paused);
    const job_id first = enqueue(delayed(2h));
    const job_id second = enqueue(delayed(1h));
    seen = looked();
    EXPECT_FALSE(seen[0].next_due_in);
    for (const std::size_t each : {1U, 3U}) {
        EXPECT_FALSE(seen[each].has_available);
        EXPECT_GT(seen[each].next_due_in.value(), 50min);
        EXPECT_LE(seen[each].next_due_in.value(), 1h);
    }
    age(second, 2h);
    EXPECT_EQ(looked()[1].next_due_in, 0s) << "it is due";
    EXPECT_EQ(promote(), 1);
    seen = looked();
    EXPECT_TRUE(seen[1].has_available);
    EXPECT_FALSE(seen[2].has_available);
    EXPECT_GT(seen[1].next_due_in.value(), 1h);
    EXPECT_EQ(one_.claim(10).size(), 1U);
    EXPECT_FALSE(looked()[1].has_available);
    EXPECT_EQ(cancel(first), cancel_outcome::cancelled);
    EXPECT_FALSE(looked()[1].next_due_in);
    EXPECT_TRUE(with_queues([&](connection& on, job_queue_store& queues) {
        return queues.look(on, {}).empty();
    }));
}

// -------------------------------------------------------------------------------- cancelling

TEST_F(job_queue_suite, a_job_that_does_not_run_is_cancelled_at_once) {
    const job_id retryable = enqueue();
    EXPECT_TRUE(one_.finish(end_of(one_.claim_one(), job_step::fail, 1h, "why")));
    const job_id available = enqueue(), scheduled = enqueue(delayed(1h));
    enqueue(keyed("k"));
    const job_id blocked = enqueue(keyed("k"));
    ASSERT_EQ(state(blocked), job_state::blocked);
    for (const job_id each : {retryable, available, scheduled, blocked}) {
        EXPECT_EQ(cancel(each), cancel_outcome::cancelled);
        EXPECT_EQ(state(each), job_state::cancelled);
        EXPECT_TRUE(info(each).ended_ago);
        EXPECT_EQ(cancel(each), cancel_outcome::ended);
    }
    EXPECT_EQ(info(retryable).error, "why");
    EXPECT_EQ(one_.claim(10).size(), 1U);
}

TEST_F(job_queue_suite, a_cancelled_job_of_which_nothing_is_kept_leaves_no_row) {
    const job_id id = enqueue();
    EXPECT_EQ(cancel(id, 0s), cancel_outcome::cancelled);
    EXPECT_FALSE(find(id));
    EXPECT_EQ(cancel(id, 0s), cancel_outcome::not_found);
    EXPECT_EQ(cancel(unknown_), cancel_outcome::not_found);
}

TEST_F(job_queue_suite, a_running_job_is_asked_to_end) {
    const job_id id = enqueue();
    const claimed_job got = one_.claim_one();
    EXPECT_EQ(one_.standing(got), claim_standing::held);
    EXPECT_EQ(cancel(id), cancel_outcome::requested);
    EXPECT_EQ(cancel(id), cancel_outcome::requested) << "again";
    EXPECT_EQ(state(id), job_state::running);
    EXPECT_TRUE(info(id).is_cancel_requested);
    EXPECT_EQ(one_.standing(got), claim_standing::cancel_requested);
    EXPECT_TRUE(one_.fail(got));
    EXPECT_EQ(state(id), job_state::cancelled);
    EXPECT_EQ(info(id).error, "failed");
    EXPECT_EQ(cancel(id), cancel_outcome::ended);
}

// ---------------------------------------------------------------------------------- retrying

TEST_F(job_queue_suite, one_that_waits_for_its_time_runs_at_once) {
    const job_id failed = enqueue();
    EXPECT_TRUE(one_.fail(one_.claim_one()));
    const job_id scheduled = enqueue(delayed(1h));
    for (const job_id each : {failed, scheduled}) {
        EXPECT_EQ(retry(each), retry_outcome::available);
        EXPECT_EQ(state(each), job_state::available);
        EXPECT_EQ(retry(each), retry_outcome::available) << "as it is";
    }
    const auto got = one_.claim(10);
    ASSERT_EQ(ids_of(got), (std::vector{failed, scheduled}));
    EXPECT_EQ(got[0].attempts, 2);
    EXPECT_EQ(retry(failed), retry_outcome::running);
    EXPECT_EQ(retry(unknown_), retry_outcome::not_found);
}

TEST_F(job_queue_suite, one_of_a_key_that_is_hurried_keeps_its_place) {
    const auto ids = enqueue_many(2, keyed("k"));
    new_job later = keyed("k");
    later.delay = 1h;
    const job_id last = enqueue(later);
    EXPECT_TRUE(one_.fail(one_.claim_one()));
    EXPECT_EQ(retry(last), retry_outcome::available);
    EXPECT_TRUE(one_.claim(10).empty());
    EXPECT_EQ(retry(ids[0]), retry_outcome::available);
    for (const job_id each : {ids[0], ids[1], last}) {
        const auto got = one_.claim(10);
        ASSERT_EQ(ids_of(got), std::vector{each});
        EXPECT_TRUE(one_.complete(got[0]));
    }
}

TEST_F(job_queue_suite, one_that_has_ended_begins_again_under_its_old_tokens) {
    new_job what;
    what.kind = "kind";
    what.payload = "payload";
    what.retry.max_attempts = 1;
    what.attempt_timeout = 5s;
    for (const auto step : {job_step::complete, job_step::fail, job_step::cancel}) {
        const job_id id = enqueue(what);
        const claimed_job before = one_.claim_one();
        EXPECT_TRUE(one_.finish(end_of(before, step, 0s, "words")));
        EXPECT_EQ(retry(id), retry_outcome::redriven);
        const job_info seen = info(id);
        EXPECT_EQ(seen.state, job_state::available);
        EXPECT_EQ(seen.attempts, 0);
        EXPECT_EQ(seen.rescues, 0);
        EXPECT_EQ(seen.token, before.token);
        EXPECT_FALSE(seen.ended_ago);
        EXPECT_FALSE(one_.complete(before));
        const claimed_job after = one_.claim_one();
        EXPECT_EQ(after.id, id);
        EXPECT_GT(after.token.number, before.token.number);
        EXPECT_EQ(after.attempts, 1);
        EXPECT_EQ(after.payload, "payload");
        EXPECT_EQ(after.attempt_timeout, 5s);
        EXPECT_FALSE(one_.complete(before)) << "by the same session";
        EXPECT_TRUE(one_.complete(after));
    }
}

TEST_F(job_queue_suite, one_whose_unique_key_is_taken_does_not_begin_again) {
    const job_id ended_one = ended(job_step::discard, unique("u"));
    const job_id other = enqueue(unique("u"));
    EXPECT_EQ(retry(ended_one), retry_outcome::duplicate);
    EXPECT_EQ(state(ended_one), job_state::discarded);
    EXPECT_EQ(cancel(other), cancel_outcome::cancelled);
    EXPECT_EQ(retry(ended_one), retry_outcome::redriven);
    EXPECT_FALSE(try_enqueue(unique("u")).is_new);
    EXPECT_EQ(retry(other), retry_outcome::duplicate);
}

// ------------------------------------------------------------------------ listing and removing

TEST_F(job_queue_suite, jobs_are_listed_by_id_page_by_page) {
    const job_id done = ended(job_step::complete), given_up = ended(job_step::discard);
    const auto waiting = enqueue_many(3);
    const job_id running = one_.claim_one().id;
    ASSERT_EQ(running, waiting[0]);
    const job_id scheduled = enqueue(delayed(1h));
    job_filter filter;
    filter.queue = queue_;
    const std::vector all{done, given_up, waiting[0], waiting[1], waiting[2], scheduled};
    EXPECT_EQ(listed(filter), all);
    filter.limit = 2;
    std::vector<job_id> paged;
    for (auto page = listed(filter); !page.empty(); page = listed(filter)) {
        EXPECT_LE(page.size(), 2U);
        paged.insert(paged.end(), page.begin(), page.end());
        filter.after = page.back();
    }
    EXPECT_EQ(paged, all);
    filter = {};
    filter.queue = queue_;
    const std::map<job_state, std::vector<job_id>> by_state{
        {job_state::completed, {done}},
        {job_state::discarded, {given_up}},
        {job_state::running, {waiting[0]}},
        {job_state::available, {waiting[1], waiting[2]}},
        {job_state::scheduled, {scheduled}},
        {job_state::cancelled, {}}};
    for (const auto& [state, ids] : by_state) {
        filter.state = state;
        EXPECT_EQ(listed(filter), ids) << static_cast<int>(state);
    }
}

TEST_F(job_queue_suite, jobs_of_all_queues_are_listed_where_none_is_asked_for) {
    const job_id first = enqueue();
    const auto other = with_stores(first_, [&](connection& on, store_set& stores) {
        return stores.get<job_store>().enqueue(on, fresh("elsewhere"), {new_job{}});
    });
    job_filter filter;
    filter.after = first - 1;
    filter.limit = 10'000;
    const auto found = listed(filter);
    EXPECT_EQ(std::ranges::count(found, first), 1);
    EXPECT_EQ(std::ranges::count(found, other.at(0).id), 1);
    filter.queue = fresh("nothing");
    EXPECT_TRUE(listed(filter).empty());
    EXPECT_FALSE(find(unknown_));
    EXPECT_FALSE(find(0));
}

TEST_F(job_queue_suite, jobs_are_listed_from_the_newest_on_page_by_page) {
    const job_id done = ended(job_step::complete);
    const auto waiting = enqueue_many(3);
    const claimed_job claimed = one_.claim_one();
    const job_id given_up = claimed.id;
    ASSERT_TRUE(one_.finish(end_of(claimed, job_step::discard)));
    const std::vector all{waiting[2], waiting[1], given_up, done};
    job_filter filter{.queue = queue_, .order = job_order::newest_first, .limit = 2};
    std::vector<job_id> paged;
    do {
        const auto page = list_jobs(first_, filter);
        for (const job_info& each : page) paged.push_back(each.id);
        filter.after = page.next;
    } while (filter.after);
    EXPECT_EQ(paged, all);
    filter.state = job_state::discarded;
    EXPECT_EQ(listed(filter), std::vector{given_up});
}

TEST_F(job_queue_suite, jobs_are_listed_by_what_they_are_and_why_they_failed) {
    new_job of_a_kind = delayed(1h), of_a_key = delayed(1h);
    of_a_kind.kind = "report";
    of_a_key.ordering_key = "Ada";
    const job_id report = enqueue(of_a_kind), keyed = enqueue(of_a_key);
    const auto given_up_with = [&](const std::string& words) {
        enqueue();
        const claimed_job claimed = one_.claim_one();
        EXPECT_TRUE(one_.finish(end_of(claimed, job_step::discard, 0us, words)));
        return claimed.id;
    };
    const std::string why = "exit status 1\nno such \\'address'";
    const job_id failed = given_up_with(why), old = given_up_with(why);
    age(old, 2h);
    for (const auto order : {job_order::oldest_first, job_order::newest_first}) {
        const auto asked = [&](job_filter filter) {
            filter.queue = queue_;
            filter.order = order;
            return listed(filter);
        };
        EXPECT_EQ(asked({.kind = "report"}), std::vector{report});
        EXPECT_TRUE(asked({.kind = "Report"}).empty());
        EXPECT_EQ(asked({.ordering_key = "Ada"}), std::vector{keyed});
        EXPECT_TRUE(asked({.ordering_key = "ada"}).empty());
        EXPECT_EQ(asked({.error_text = why.substr(1), .since = 1h}), std::vector{failed});
        EXPECT_EQ(asked({.error_text = why}).size(), 2U);
        EXPECT_TRUE(asked({.error_text = "%"}).empty());
        EXPECT_EQ(asked({.state = job_state::discarded, .since = 1h}), std::vector{failed});
        EXPECT_EQ(asked({.since = 1h}).size(), 3U);
    }
    EXPECT_THROW(listed({.since = 0s}), error);
}

// The parts in which a list is read when no index knows what it asks for.
TEST_F(job_queue_suite, a_list_is_read_in_parts_of_so_many_jobs) {
    const job_id first = ended(job_step::complete), second = ended(job_step::complete);
    const auto waiting = enqueue_many(3);
    with_queues([&](connection& on, job_queue_store& queues) {
        const job_queue_store::id_range all{first, waiting[2]};
        for (const auto order : {job_order::oldest_first, job_order::newest_first}) {
            const auto part = queues.part_of(on, all, order, 2);
            const bool is_oldest = order == job_order::oldest_first;
            EXPECT_TRUE((is_oldest ? part.first : part.last) == (is_oldest ? first : waiting[2]));
            const auto end = is_oldest ? part.last : part.first;
            EXPECT_TRUE(current().name == "memory" || end == (is_oldest ? second : waiting[1]));
            const auto whole = queues.part_of(on, all, order, 100);
            EXPECT_TRUE(whole.first == first && whole.last == waiting[2]);
        }
        return 0;
    });
}

TEST_F(job_queue_suite, what_has_been_kept_long_enough_is_removed) {
    std::vector<job_id> old, young;
    for (int each = 0; each < 5; ++each) old.push_back(ended(job_step::discard));
    for (int each = 0; each < 2; ++each) young.push_back(ended(job_step::complete));
    const job_id waiting = enqueue();
    while (prune(1000) > 0) {
    }  // of other tests
    for (const job_id each : old) age(each, 24h * 8);
    age(young[0], 23h);
    EXPECT_EQ(prune(3), 3);
    EXPECT_EQ(prune(3), 2);
    EXPECT_EQ(prune(3), 0);
    for (const job_id each : old) EXPECT_FALSE(find(each));
    for (const job_id each : young) EXPECT_TRUE(find(each));
    EXPECT_TRUE(find(waiting));
    age(young[0], 2h);
    EXPECT_EQ(prune(3), 1) << "a result is kept for a day";
    EXPECT_EQ(retry(young[0]), retry_outcome::not_found);
}

TEST_F(job_queue_suite, an_ended_job_is_deleted_and_no_other) {
    set_limits({.keep_completed = 1h});
    const job_id other = ended(job_step::complete), id = ended(job_step::complete);
    EXPECT_EQ(delete_job(second_, id), delete_outcome::deleted);
    EXPECT_FALSE(find_job(first_, id));
    EXPECT_EQ(delete_job(second_, id), delete_outcome::not_found);
    EXPECT_EQ(retry_job(second_, id), retry_outcome::not_found);
    EXPECT_EQ(state(other), job_state::completed);
    for (const job_id each : {ended(job_step::discard), ended(job_step::cancel)}) {
        EXPECT_EQ(delete_job(second_, each), delete_outcome::deleted);
    }
    EXPECT_EQ(delete_job(second_, unknown_), delete_outcome::not_found);
}

TEST_F(job_queue_suite, a_job_that_has_not_ended_is_not_deleted) {
    const job_id scheduled = enqueue(delayed(1h)), failed = enqueue();
    EXPECT_TRUE(one_.fail(one_.claim_one(), 1h));
    const job_id running = enqueue();
    const claimed_job runs = one_.claim_one();
    const job_id available = enqueue();
    for (const job_id each : {scheduled, failed, running, available}) {
        EXPECT_EQ(delete_job(second_, each), delete_outcome::not_ended);
        EXPECT_TRUE(find_job(first_, each));
    }
    EXPECT_TRUE(one_.complete(runs));
}

TEST_F(job_queue_suite, a_queue_is_described_by_what_is_in_it) {
    queue_info seen = described();
    EXPECT_EQ(seen.name, queue_);
    EXPECT_TRUE(seen.jobs.empty());
    EXPECT_FALSE(seen.oldest_available);
    EXPECT_FALSE(is_named(queue_));
    ended(job_step::complete);
    ended(job_step::discard);
    ended(job_step::discard);
    enqueue_many(4);
    one_.claim(1);
    enqueue(delayed(1h));
    queue_limits limits;
    limits.max_running = 12;
    set_limits(limits);
    set_paused(true);
    seen = described();
    const std::map<job_state, std::int64_t> expected{
        {job_state::completed, 1},
        {job_state::discarded, 2},
        {job_state::available, 3},
        {job_state::running, 1},
        {job_state::scheduled, 1}};
    EXPECT_EQ(seen.jobs, expected);
    EXPECT_TRUE(seen.is_paused);
    EXPECT_EQ(seen.limits, limits);
    EXPECT_TRUE(seen.oldest_available);
    EXPECT_LT(seen.oldest_available.value(), 5min);
    EXPECT_TRUE(is_named(queue_));
}

TEST_F(job_queue_suite, all_queues_are_described_as_each_of_them_is) {
    const std::string empty = fresh("empty"), waits = fresh("waits");
    ended(job_step::complete);
    enqueue_many(3);
    one_.claim(1);
    queue_limits limits;
    limits.max_running = 7;
    set_limits(limits);
    with_stores(first_, [&](connection& on, store_set& stores) {
        stores.get<job_store>().enqueue(on, waits, {delayed(1h)});
        stores.get<job_queue_store>().set_paused(on, empty, true);
        return true;
    });
    const auto all = list_queues(first_);
    const auto by_name = [](const queue_info& left, const queue_info& right) {
        return left.name < right.name;
    };
    EXPECT_TRUE(std::is_sorted(all.begin(), all.end(), by_name));
    for (const std::string& name : {queue_, empty, waits}) {
        const auto is_it = [&](const queue_info& each) { return each.name == name; };
        ASSERT_EQ(std::ranges::count_if(all, is_it), 1) << name;
        const queue_info& seen = *std::ranges::find_if(all, is_it);
        const queue_info alone = job_queue{first_, name}.describe();
        EXPECT_EQ(seen.jobs, alone.jobs) << name;
        EXPECT_EQ(seen.limits, alone.limits) << name;
        EXPECT_EQ(seen.is_paused, alone.is_paused) << name;
        EXPECT_EQ(seen.oldest_available.has_value(), alone.oldest_available.has_value()) << name;
    }
}

TEST_F(job_queue_suite, a_queue_is_there_from_its_first_job_or_setting_on) {
    const std::vector<std::string> names{
        fresh("waits"), fresh("is_due"), fresh("is_paused"), fresh("is_maintained")};
    for (const std::string& each : names) EXPECT_FALSE(is_named(each));
    with_stores(first_, [&](connection& on, store_set& stores) {
        stores.get<job_store>().enqueue(on, names[0], {delayed(1h)});
        stores.get<job_store>().enqueue(on, names[1], {new_job{}});
        stores.get<job_queue_store>().set_paused(on, names[2], true);
        return stores.get<job_queue_store>().begin_maintenance(on, names[3], 1h);
    });
    for (const std::string& each : names) EXPECT_TRUE(is_named(each));
}

}  // namespace
}  // namespace leasehold::testing
