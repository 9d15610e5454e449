// Enqueues, claims and ends jobs on SQLite. The statements: job.sql.
#include "jobs/sql_job_store.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

#include "jobs/sqlite/job_ends.hpp"
#include "jobs/sqlite/row_list.hpp"
#include "leasehold/error.hpp"
#include "sql/sqlite/dialect.hpp"

namespace leasehold::sqlite_dialect {
namespace {

// The ordering keys of running jobs of a queue; reads them when a job with a key is first found.
class running_keys {
public:
    running_keys(const writing& write, std::string queue)
        : write_(write), queue_(std::move(queue)) {}

    // True if job `id` may start, when at most this many jobs of its key may run at a time.
    bool may_start(job_id id, const std::string& key, std::int64_t per_key) {
        if (!is_known_) {
            for (const row& each : write_("running_keys", {queue_}).rows) {
                using column = columns::job::running_keys;
                jobs_.emplace(each.bytes(column::ordering_key), each.integer(column::id));
            }
            is_known_ = true;
        }
        const auto [first, last] = jobs_.equal_range(key);
        const auto later =
            std::count_if(first, last, [&](const auto& each) { return each.second > id; });
        const std::int64_t before = only_integer(write_("count_before", {queue_, id}));
        return before + later < per_key;
    }
    void add(job_id id, const std::string& key) { jobs_.emplace(key, id); }

private:
    const writing& write_;
    const std::string queue_;
    std::multimap<std::string, job_id> jobs_;
    bool is_known_ = false;
};

class sqlite_job_store final : public sql_job_store {
public:
    explicit sqlite_job_store(shared_dialect how)
        : sql_job_store(how),
          sqlite_(std::move(how)),
          inserts_(texts_.source("insert_plain"), 7, 3),
          takes_(texts_.source("take_many"), 2, 1),
          completes_(texts_.source("complete_many"), 1, 2) {}

    // Enqueues the list, and settles unique keys that are taken, in one transaction. Enqueuing
    // needs no session, so that rows of sessions may be of any boot.
    std::vector<enqueued_job> enqueue(
        connection& on, std::string_view queue, const std::vector<new_job>& what
    ) override {
        write_transaction writing{on};
        auto made = sql_job_store::enqueue(on, queue, what);
        const bool has_changed = std::ranges::any_of(made, &enqueued_job::is_new) ||
                                 std::ranges::any_of(what, [](const new_job& each) {
                                     return each.conflict == on_conflict::replace;
                                 });
        if (has_changed) writing.commit();
        return made;
    }

    // Reads first, without the write lock: a claim that finds nothing writes and waits for nothing.
    claim_result claim(connection& on, const claim_request& wanted) override {
        writing write{*sqlite_, texts_, on};
        for (;;) {
            claim_result got;
            if (room_in(write, wanted, got).jobs == 0) return got;
            write.begin();
            const found_jobs found = claim_within(write, wanted, got);
            if (found.has_changed()) write.commit();
            // Jobs that were held back are blocked now: the next look passes over them.
            if (!got.jobs.empty() || !found.may_be_more) return got;
        }
    }

    end_states finish(
        connection& on,
        const session_id& whose,
        const std::vector<job_end>& ends,
        const job_retention& kept
    ) override {
        writing write{*sqlite_, texts_, on};
        write.begin();
        auto done = finish_within(write, whose, ends, kept);
        if (have_changed(done)) write.commit();
        return done;
    }

    finished_and_claimed finish_and_claim(
        connection& on,
        const session_id& whose,
        const std::vector<job_end>& ends,
        const job_retention& kept,
        const claim_request& wanted
    ) override {
        if (ends.empty()) return {{}, claim(on, wanted)};
        finished_and_claimed both;
        found_jobs found;
        {
            writing write{*sqlite_, texts_, on};
            write.begin();
            both.finished = finish_within(write, whose, ends, kept);
            found = claim_within(write, wanted, both.claimed);
            if (have_changed(both.finished) || found.has_changed()) write.commit();
        }
        if (both.claimed.jobs.empty() && found.may_be_more) both.claimed = claim(on, wanted);
        return both;
    }

    std::vector<claim_standing> standings(
        connection& on, const session_id& whose, const std::vector<job_claim>& held
    ) override {
        std::vector<claim_standing> all(held.size(), claim_standing::gone);
        ask(
            on,
            "standings",
            held.size(),
            [&](std::size_t at) {
                return parameters{held[at].id, held[at].token.number, value_of(whose)};
            },
            [&](std::size_t at, const row& each) {
                const bool is_asked =
                    each.integer(columns::job::standings_on_sqlite::is_asked) != 0;
                all[at] = is_asked ? claim_standing::cancel_requested : claim_standing::held;
            }
        );
        return all;
    }

protected:
    std::vector<std::optional<job_id>> insert(
        connection& on, std::string_view queue, std::span<const new_job> what
    ) override {
        std::vector<std::optional<job_id>> ids;
        ids.reserve(what.size());
        if (are_plain(what)) insert_many(on, queue, what, ids);
        for (const new_job& each : what.subspan(ids.size())) {
            const parameters values = values_of(std::string{queue}, each);
            ids.push_back(only_integer_if_any(inside(on, "insert", values)));
        }
        return ids;
    }

private:
    // Inserts as many jobs as fill texts with many rows.
    void insert_many(
        connection& on,
        std::string_view queue,
        std::span<const new_job> what,
        std::vector<std::optional<job_id>>& ids
    ) const {
        const parameters before = joined({std::string{queue}}, values_of_like(what.front()));
        while (ids.size() < what.size()) {
            const auto part = inserts_.first_full(what.size() - ids.size());
            if (!part.text) return;
            parameters values = before;
            values.reserve(before.size() + part.rows * 3);
            for (const new_job& each : what.subspan(ids.size(), part.rows)) {
                values.emplace_back(each.kind);
                values.emplace_back(each.payload);
                values.emplace_back(each.priority);
            }
            const auto first = static_cast<std::ptrdiff_t>(ids.size());
            const auto made = only_integers(how_->inside(on, *part.text, values));
            ids.insert(ids.end(), made.begin(), made.end());
            // The ids grow with the places of the list, in whatever order they are answered.
            std::ranges::sort(ids.begin() + first, ids.end());
        }
    }

    struct claim_room {
        std::int64_t jobs = 0;
        std::int64_t per_key = 1;
        bool is_paid_for = false;
    };
    struct found_jobs {
        std::size_t claimed = 0;
        std::size_t held_back = 0;
        bool may_be_more = false;
        bool has_changed() const { return claimed + held_back > 0; }
    };

    using available_column = columns::job::available;
    static job_id id_of(const row& seen) { return seen.integer(available_column::id); }
    static bool has_key(const row& seen) { return !seen.is_null(available_column::ordering_key); }

    // The available jobs, in the order of priority and id.
    static std::vector<row> available(
        const writing& write, const claim_request& wanted, std::int64_t max_jobs
    ) {
        if (wanted.kinds.empty()) return write("available", {wanted.queue, max_jobs}).rows;
        std::vector<row> all;
        for (const std::string& each : wanted.kinds) {
            auto some = write("available_of_kind", {wanted.queue, max_jobs, each}).rows;
            std::ranges::move(some, std::back_inserter(all));
        }
        std::ranges::sort(all, {}, [](const row& each) {
            return std::pair{each.integer(available_column::priority), id_of(each)};
        });
        if (std::ssize(all) > max_jobs) all.resize(static_cast<std::size_t>(max_jobs));
        return all;
    }

    static claim_room room_in(
        const writing& write, const claim_request& wanted, claim_result& got
    ) {
        const parameters values{wanted.queue, value_of(wanted.session), wanted.max_jobs};
        using column = columns::job::room;
        const row how = write("room", values).rows.at(0);
        got.session_has_ended = how.integer(column::is_live) == 0;
        const bool has_any = !got.session_has_ended && !available(write, wanted, 1).empty();
        return {
            has_any ? how.integer(column::jobs) : 0,
            how.integer(column::per_key),
            how.integer(column::is_paid_for) != 0};
    }

    // Claims under the write lock. Each job that it looks at is claimed or held back, so that the
    // next look finds other jobs.
    found_jobs claim_within(const writing& write, const claim_request& wanted, claim_result& got)
        const {
        const claim_room room = room_in(write, wanted, got);
        const std::int64_t max_looks = std::int64_t{wanted.max_jobs} * 4 + 100;
        running_keys running{write, wanted.queue};
        found_jobs found;
        std::int64_t left = room.jobs;
        for (std::int64_t looked = 0; left > 0;) {
            const std::int64_t asked = std::min(left, max_looks - looked);
            found.may_be_more = asked == 0;
            if (found.may_be_more) break;
            const std::vector<row> seen = available(write, wanted, asked);
            const bool has_keys = std::ranges::any_of(seen, has_key);
            const std::size_t before = got.jobs.size();
            found.held_back += has_keys
                                   ? take_in_turn(write, wanted, room.per_key, seen, running, got)
                                   : take_all(write, wanted, seen, got);
            left -= static_cast<std::int64_t>(got.jobs.size() - before);
            if (std::ssize(seen) < asked) break;
            looked += asked;
        }
        found.claimed = got.jobs.size();
        if (room.is_paid_for && found.claimed > 0) write("pay", {wanted.queue, found.claimed});
        return found;
    }

    // Takes jobs one by one, since a job that starts may hold back the next of its key. Returns the
    // number of jobs held back.
    static std::size_t take_in_turn(
        const writing& write,
        const claim_request& wanted,
        std::int64_t per_key,
        const std::vector<row>& seen,
        running_keys& running,
        claim_result& got
    ) {
        std::size_t held_back = 0;
        for (const row& each : seen) {
            const job_id id = id_of(each);
            if (has_key(each)) {
                const std::string& key = each.bytes(available_column::ordering_key);
                if (!running.may_start(id, key, per_key)) {
                    write("hold_back", {id});
                    ++held_back;
                    continue;
                }
                running.add(id, key);
            }
            held_back += take_one(write, wanted, id, got);
        }
        return held_back;
    }

    // Sets a job aside that cannot be read, so that it does not keep other jobs waiting.
    static std::optional<claimed_job> readable(
        const writing& write, const claim_request& wanted, const row& taken
    ) {
        using column = columns::job::claimed_columns;
        try {
            return claimed_in(taken, column::id);
        } catch (const error& failure) {
            set_aside(write, taken.integer(column::id), failure.what());
            free_next(write, {wanted.queue, taken.at(column::ordering_key)});
            return std::nullopt;
        }
    }

    // Returns the number of jobs set aside.
    static std::size_t take_one(
        const writing& write, const claim_request& wanted, job_id id, claim_result& got
    ) {
        const result taken = write("take", {value_of(wanted.session), wanted.node_info, id});
        auto one = readable(write, wanted, taken.rows.at(0));
        if (!one) return 1;
        got.jobs.push_back(std::move(*one));
        return 0;
    }

    // Takes jobs in the order in which they were seen. Returns the number of jobs set aside.
    std::size_t take_all(
        const writing& write,
        const claim_request& wanted,
        const std::vector<row>& seen,
        claim_result& got
    ) const {
        std::size_t aside = 0;
        for (std::size_t first = 0; first < seen.size();) {
            const auto part = takes_.first_padded(seen.size() - first);
            if (!part.text) {
                aside += take_one(write, wanted, id_of(seen[first++]), got);
                continue;
            }
            parameters values{value_of(wanted.session), wanted.node_info};
            std::map<job_id, std::size_t> places;
            for (std::size_t at = 0; at < part.places; ++at) {
                const std::size_t own = std::min(at, part.rows - 1);
                const job_id id = id_of(seen[first + own]);
                places[id] = own;
                values.emplace_back(id);
            }
            std::vector<std::optional<claimed_job>> jobs(part.rows);
            const result taken = write(*part.text, values);
            if (taken.rows.size() != part.rows) {
                throw error(errc::database_error, "a job that was available could not be taken");
            }
            for (const row& each : taken.rows) {
                const job_id id = each.integer(columns::job::claimed_columns::id);
                jobs[places.at(id)] = readable(write, wanted, each);
            }
            for (auto& each : jobs) {
                if (each) got.jobs.push_back(std::move(*each));
                aside += each ? 0 : 1;
            }
            first += part.rows;
        }
        return aside;
    }

    static bool have_changed(const end_states& done) {
        return std::ranges::any_of(done, [](const auto& each) { return each.has_value(); });
    }

    end_states finish_within(
        const writing& write,
        const session_id& whose,
        const std::vector<job_end>& ends,
        const job_retention& kept
    ) const {
        end_states done(ends.size());
        std::vector<std::size_t> plain;
        for (std::size_t at = 0; at < ends.size(); ++at) {
            if (leaves_nothing(ends[at], kept)) {
                plain.push_back(at);
                continue;
            }
            const parameters which{value_of(whose), ends[at].id, ends[at].token.number};
            const result found = write("find_running", which);
            if (found.rows.empty()) continue;
            using column = columns::job::find_running;
            const row& job = found.rows[0];
            const bool is_asked = job.integer(column::is_cancel_requested) != 0;
            done[at] = under_request(ends[at].becomes, is_asked);
            if (!step(write, ends[at], kept, *done[at])) continue;
            free_next(write, {job.at(column::queue), job.at(column::ordering_key)});
        }
        complete(write, whose, ends, plain, done);
        return done;
    }

    // Completes the ends at these positions.
    void complete(
        const writing& write,
        const session_id& whose,
        const std::vector<job_end>& ends,
        std::span<const std::size_t> which,
        end_states& done
    ) const {
        while (!which.empty()) {
            auto part = completes_.first_padded(which.size());
            if (!part.text) part.rows = part.places = 1;
            parameters values{value_of(whose)};
            std::map<std::pair<job_id, std::int64_t>, std::size_t> places;
            for (std::size_t at = 0; at < part.places; ++at) {
                const std::size_t own = which[std::min(at, part.rows - 1)];
                values.emplace_back(ends[own].id);
                values.emplace_back(ends[own].token.number);
                places[{ends[own].id, ends[own].token.number}] = own;
            }
            const result found = part.text ? write(*part.text, values) : write("complete", values);
            for (const row& each : found.rows) {
                using column = columns::job::complete;
                const std::pair claim{each.integer(column::id), each.integer(column::token)};
                done[places.at(claim)] = job_state::completed;
                free_next(write, {each.at(column::queue), each.at(column::ordering_key)});
            }
            which = which.subspan(part.rows);
        }
    }

    // Carries out the end of a running job. True if it no longer holds back later jobs of its key.
    static bool step(
        const writing& write, const job_end& end, const job_retention& kept, job_state to
    ) {
        const bool is_ended = to >= job_state::completed;
        if (end.has_error()) write("note_failure", {end.id, end.words});
        if (!is_ended) {
            const value error = to == job_state::retryable ? value{end.words} : value{};
            write("put_back", {end.id, static_cast<int>(to), value_of(end.delay), error});
            return to == job_state::scheduled;
        }
        const bool is_completed = to == job_state::completed;
        const value words = text_or_null(end.words);
        const auto how_long =
            to == job_state::cancelled ? kept_for(kept.cancelled) : kept_after(end, kept);
        end_job(
            write,
            end.id,
            to,
            how_long,
            {is_completed ? value{} : words, is_completed ? words : value{}}
        );
        return true;
    }

    const shared_dialect sqlite_;
    const row_list inserts_, takes_, completes_;
};

}  // namespace

std::unique_ptr<job_store> make_job_store(shared_dialect how) {
    return std::make_unique<sqlite_job_store>(std::move(how));
}

}  // namespace leasehold::sqlite_dialect
