// Enqueues, claims and ends jobs on PostgreSQL. The statements: job.sql.
#include "jobs/sql_job_store.hpp"

#include <algorithm>
#include <iterator>
#include <limits>
#include <map>
#include <set>

#include "core/thread_mutex.hpp"
#include "jobs/sql_known_queues.hpp"
#include "leasehold/clock.hpp"
#include "leasehold/error.hpp"
#include "sql/postgres/array_text.hpp"
#include "sql/postgres/dialect.hpp"

namespace leasehold::postgres_dialect {
namespace {

// The positions at which the first available job of each queue may be. Claimed rows stay in the
// index until they are vacuumed, which an old snapshot puts off, and each claim from the beginning
// reads all of them. So a process that claims very many jobs begins where it last found the first
// job. A job may become available again before that position: each process finds it when it next
// claims from the beginning, once in a while. A smaller priority is always seen.
class claim_places {
public:
    struct place {
        std::int64_t priority = std::numeric_limits<std::int16_t>::min();
        job_id id = 0;
        bool is_beginning() const noexcept { return id == 0; }
    };
    place of(const claim_request& wanted) const {
        const thread_guard guard{mutex_};
        const auto found = queues_.find(wanted.queue);
        if (found == queues_.end()) return {};
        const known& seen = found->second;
        const bool is_used = seen.claimed >= claimed_min && seen.kinds == wanted.kinds &&
                             local_clock::now() < seen.began_there + beginning_every;
        return is_used ? seen.first : place{};
    }
    // Notes a claim that began at `from` and found `jobs` jobs, the first of them at `first`.
    void note(const claim_request& wanted, place from, std::size_t jobs, place first) {
        const thread_guard guard{mutex_};
        known& seen = queues_[wanted.queue];
        if (from.is_beginning() || seen.kinds != wanted.kinds) {
            seen.began_there = local_clock::now();
            seen.kinds = wanted.kinds;
            seen.first = {};
        }
        seen.claimed += jobs;
        if (jobs > 0) seen.first = {first.priority, first.id - 1};
    }

private:
    // A process that has claimed fewer jobs begins at the beginning.
    static constexpr std::size_t claimed_min = 10'000;
    // The longest time for which a job that became available again waits behind later ones.
    static constexpr std::chrono::seconds beginning_every{1};
    struct known {
        std::vector<std::string> kinds{};
        std::size_t claimed = 0;
        place first{};
        local_clock::time_point began_there{};
    };
    mutable thread_mutex mutex_;
    std::map<std::string, known> queues_ LEASEHOLD_GUARDED_BY(mutex_);
};

// The turn of a queue, and whether its jobs have keys. A claim by an old turn is refused.
struct known_turn {
    std::int64_t turn = 0;
    bool has_turn = false;
    bool is_claimed_in_turn = false;
};

class postgres_job_store final : public sql_job_store {
public:
    explicit postgres_job_store(shared_dialect how) : sql_job_store(std::move(how)) {}

    claim_result claim(connection& on, const claim_request& wanted) override {
        const auto seen = turns_.of(wanted.queue);
        if (!seen.is_claimed_in_turn) {
            claim_result got;
            if (claim_freely(on, wanted, places_.of(wanted), got)) return got;
        }
        return claim_in_turn(on, wanted);
    }

    end_states finish(
        connection& on,
        const session_id& whose,
        const std::vector<job_end>& ends,
        const job_retention& kept
    ) override {
        ended_jobs done;
        const auto is_plain = [&](const job_end& each) { return leaves_nothing(each, kept); };
        if (std::ranges::all_of(ends, is_plain)) {
            const parameters values = joined({value_of(whose)}, values_of_ends(ends));
            for (const job_id each : only_integers(write(on, "complete", values))) {
                done.emplace(each, job_state::completed);
            }
        }
        finish_rest(on, whose, ends, kept, done);
        return states_of(done, ends);
    }

    finished_and_claimed finish_and_claim(
        connection& on,
        const session_id& whose,
        const std::vector<job_end>& ends,
        const job_retention& kept,
        const claim_request& wanted
    ) override {
        const auto is_plain = [&](const job_end& each) { return leaves_nothing(each, kept); };
        const bool is_fused = !ends.empty() && wanted.session == whose &&
                              !turns_.of(wanted.queue).is_claimed_in_turn &&
                              std::ranges::all_of(ends, is_plain);
        if (!is_fused) return job_store::finish_and_claim(on, whose, ends, kept, wanted);
        const auto from = places_.of(wanted);
        parameters values = joined(values_of_free_claim(wanted, from), values_of_ends(ends));
        values.emplace_back(ends.size());
        const char* const name =
            wanted.kinds.empty() ? "complete_and_claim" : "complete_and_claim_of_kinds";
        const result found = write(on, name, values);
        finished_and_claimed both;
        const row& how = standing_in(found);
        const bool is_all = take(found, how, wanted, from, both.claimed);
        if (how.is_null(answer::ended)) {
            both.finished.assign(ends.size(), job_state::completed);
        } else {
            ended_jobs done = completed_in(how.bytes(answer::ended));
            finish_rest(on, whose, ends, kept, done);
            both.finished = states_of(done, ends);
        }
        if (!is_all) {
            both.claimed = claim_in_turn(on, wanted);
        } else if (!both.claimed.session_has_ended) {
            claim_what_is_before(on, wanted, from, both.claimed);
        }
        return both;
    }

    std::vector<claim_standing> standings(
        connection& on, const session_id& whose, const std::vector<job_claim>& held
    ) override {
        array_texts lists(1);
        for (const job_claim& each : held) lists.add({each.id});
        const parameters values = joined({value_of(whose)}, lists.values());
        return standings_in(read(on, "standings", values), held);
    }

protected:
    std::vector<std::optional<job_id>> insert(
        connection& on, std::string_view queue, std::span<const new_job> what
    ) override {
        if (are_plain(what)) {
            array_texts lists(3);
            for (const new_job& each : what) lists.add({each.kind, each.payload, each.priority});
            const parameters own = joined({std::string{queue}}, lists.values());
            const result made =
                inside(on, "insert_plain", joined(own, values_of_like(what.front())));
            const std::set<job_id> drawn = ids_in(only_text(made));
            return {drawn.begin(), drawn.end()};
        }
        array_texts lists(15);
        std::int64_t number = 0;
        for (const new_job& each : what) lists.add(values_of(++number, each));
        const result made = inside(on, "insert", joined({std::string{queue}}, lists.values()));
        // The ids grow with the numbers of the list, in whatever order they are answered.
        using column = columns::job::insert;
        std::map<std::string, job_id> by_key;
        std::vector<job_id> others;
        for (const row& each : made.rows) {
            if (each.is_null(column::unique_key)) {
                others.push_back(each.integer(column::id));
            } else {
                by_key[each.bytes(column::unique_key)] = each.integer(column::id);
            }
        }
        std::ranges::sort(others);
        std::vector<std::optional<job_id>> ids;
        auto next = others.begin();
        for (const new_job& each : what) {
            if (each.unique_key.empty()) {
                ids.emplace_back(*next++);
            } else if (const auto found = by_key.find(each.unique_key); found != by_key.end()) {
                ids.emplace_back(found->second);
            } else {
                ids.emplace_back();
            }
        }
        return ids;
    }

private:
    static parameters values_of_claim(const claim_request& wanted) {
        std::string kinds;
        for (const std::string& each : wanted.kinds) add_to_array(each, kinds);
        return {
            wanted.queue,
            wanted.max_jobs,
            value_of(wanted.session),
            "{" + kinds + "}",
            wanted.kinds.size(),
            wanted.node_info};
    }

    static parameters values_of_free_claim(const claim_request& wanted, claim_places::place from) {
        return joined(values_of_claim(wanted), {from.priority, from.id});
    }

    static parameters values_of_ends(const std::vector<job_end>& ends) {
        array_texts lists(2);
        for (const job_end& each : ends) lists.add({each.id, each.token.number});
        return lists.values();
    }

    // `claim` answers the jobs, and one row without a job for the state of queue and session.
    using answer = columns::job::answer;

    static const row& standing_in(const result& found) {
        const auto says = [](const row& each) { return !each.is_null(answer::stands); };
        const auto at = std::ranges::find_if(found.rows, says);
        if (at == found.rows.end()) throw error{errc::database_error, "a claim has no answer"};
        return *at;
    }

    // Takes the answer. False if the queue is claimed in turn: then the caller does that.
    bool take(
        const result& found,
        const row& how,
        const claim_request& wanted,
        claim_places::place from,
        claim_result& got
    ) {
        constexpr std::int64_t is_live = 1, is_paused = 2, is_limited = 4, has_keys = 8;
        const std::int64_t stands = how.integer(answer::stands);
        got.session_has_ended = (stands & is_live) == 0;
        if (got.session_has_ended || (stands & is_paused) != 0) return true;
        if ((stands & (is_limited | has_keys)) != 0) {
            auto seen = turns_.of(wanted.queue);
            seen.is_claimed_in_turn = true;
            turns_.note(wanted.queue, seen);
            return false;
        }
        std::vector<std::pair<std::int64_t, const row*>> jobs;
        jobs.reserve(found.rows.size());
        for (const row& each : found.rows) {
            if (&each != &how) jobs.emplace_back(each.integer(answer::priority), &each);
        }
        constexpr std::size_t id_column = answer::claimed_columns;
        std::ranges::sort(jobs, [](const auto& one, const auto& other) {
            if (one.first != other.first) return one.first < other.first;
            return one.second->integer(id_column) < other.second->integer(id_column);
        });
        got.jobs.reserve(got.jobs.size() + jobs.size());
        for (const auto& each : jobs) got.jobs.push_back(claimed_in(*each.second, id_column));
        claim_places::place first;
        if (!jobs.empty()) first = {jobs[0].first, jobs[0].second->integer(id_column)};
        places_.note(wanted, from, jobs.size(), first);
        return true;
    }

    // Claims without a turn. False if the queue is claimed in turn.
    bool claim_freely(
        connection& on, const claim_request& wanted, claim_places::place from, claim_result& got
    ) {
        const char* const name = wanted.kinds.empty() ? "claim" : "claim_of_kinds";
        const result found = write(on, name, values_of_free_claim(wanted, from));
        if (!take(found, standing_in(found), wanted, from, got)) return false;
        if (!got.session_has_ended) claim_what_is_before(on, wanted, from, got);
        return true;
    }

    // If the claim found fewer jobs than were wanted, claims more from the beginning.
    void claim_what_is_before(
        connection& on, const claim_request& wanted, claim_places::place from, claim_result& got
    ) {
        if (from.is_beginning() || std::ssize(got.jobs) >= wanted.max_jobs) return;
        claim_request rest = wanted;
        rest.max_jobs -= static_cast<int>(got.jobs.size());
        claim_result more;
        // If the queue is claimed in turn, the next claim does that.
        if (!claim_freely(on, rest, {}, more)) return;
        got.session_has_ended = more.session_has_ended;
        std::ranges::move(more.jobs, std::back_inserter(got.jobs));
    }

    claim_result claim_in_turn(connection& on, const claim_request& wanted) {
        claim_result got;
        // A look is refused only if another claim was made since.
        constexpr int max_looks = 20;
        for (int look = 0; look < max_looks; ++look) {
            auto seen = turns_.of(wanted.queue);
            if (!seen.has_turn) {
                const result turn = read(on, "turn", {wanted.queue});
                if (turn.rows.empty()) {
                    // Any turn will do: nobody can have claimed in turn without the row.
                    inside(on, "make_queue", {wanted.queue});
                    continue;
                }
                seen = {only_integer(turn), true, true};
            }
            parameters values = values_of_claim(wanted);
            values.emplace_back(seen.turn);
            const char* const name =
                wanted.kinds.empty() ? "claim_in_turn" : "claim_in_turn_of_kinds";
            const result found = write(on, name, values);
            const row& how = found.rows.at(0);
            using column = columns::job::claim_in_turn_on_postgres;
            got.session_has_ended = how.integer(column::is_live) == 0;
            const bool was_my_turn = how.integer(column::is_my_turn) != 0;
            if (was_my_turn || got.session_has_ended) {
                for (const row& each : found.rows) {
                    constexpr std::size_t first = column::claimed_columns;
                    if (!each.is_null(first)) got.jobs.push_back(claimed_in(each, first));
                }
                if (!got.jobs.empty()) ++seen.turn;
                turns_.note(wanted.queue, seen);
                return got;
            }
            seen.has_turn = false;
            turns_.note(wanted.queue, seen);
        }
        return got;
    }

    // Carries out the ends that are not done yet, with all that may follow an end.
    void finish_rest(
        connection& on,
        const session_id& whose,
        const std::vector<job_end>& ends,
        const job_retention& kept,
        ended_jobs& done
    ) {
        array_texts lists(7);
        for (const job_end& each : ends) {
            if (done.contains(each.id)) continue;
            lists.add(
                {each.id,
                 each.token.number,
                 static_cast<int>(each.becomes),
                 value_of(each.delay),
                 each.words,
                 kept_after(each, kept),
                 kept_for(kept.cancelled)}
            );
        }
        if (lists.is_empty()) return;
        const parameters values = joined({value_of(whose)}, lists.values());
        note_finished(inside(on, "finish", values), done);
    }

    known_queues<known_turn> turns_;
    claim_places places_;
};

}  // namespace

std::unique_ptr<job_store> make_job_store(shared_dialect how) {
    return std::make_unique<postgres_job_store>(std::move(how));
}

}  // namespace leasehold::postgres_dialect
