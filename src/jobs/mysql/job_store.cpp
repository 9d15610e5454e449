// Enqueues, claims and ends jobs on MySQL and MariaDB. The statements: job.sql.
#include "jobs/sql_job_store.hpp"

#include <algorithm>
#include <set>

#include "core/hexadecimal.hpp"
#include "jobs/mysql/job_inserts.hpp"
#include "sql/mysql/dialect.hpp"
#include "sql/sql_text.hpp"

namespace leasehold::mysql_dialect {
namespace {

std::vector<job_end> by_id(std::vector<job_end> ends) {
    std::ranges::sort(ends, {}, &job_end::id);
    return ends;
}

// Lists the claims by id: rows are locked in this order, so that no two statements that end jobs
// wait for each other in a circle.
std::string claims_in(const std::vector<job_end>& ends) {
    std::string list;
    for (const job_end& each : by_id(ends)) {
        list += list.empty() ? "[" : ",[";
        list += std::to_string(each.id) + "," + std::to_string(each.token.number) + "]";
    }
    return "[" + list + "]";
}

class mysql_job_store final : public sql_job_store {
public:
    explicit mysql_job_store(shared_dialect how)
        : sql_job_store(std::move(how)),
          inserts_(*how_, texts_, queues_),
          any_kind_(claim_statement(claim_text("claim", {}, claimed_at_once))) {}

    std::vector<enqueued_job> enqueue(
        connection& on, std::string_view queue, const std::vector<new_job>& what
    ) override;
    claim_result claim(connection& on, const claim_request& wanted) override;
    end_states finish(
        connection& on,
        const session_id& whose,
        const std::vector<job_end>& ends,
        const job_retention& kept
    ) override;
    finished_and_claimed finish_and_claim(
        connection& on,
        const session_id& whose,
        const std::vector<job_end>& ends,
        const job_retention& kept,
        const claim_request& wanted
    ) override;
    std::vector<claim_standing> standings(
        connection& on, const session_id& whose, const std::vector<job_claim>& held
    ) override;

protected:
    std::vector<std::optional<job_id>> insert(
        connection& on, std::string_view queue, std::span<const new_job> what
    ) override {
        return inserts_.insert(on, std::string{queue}, what);
    }
    std::optional<enqueued_job> find_unique(
        connection& on, const std::string& queue, const std::string& unique_key
    ) override {
        const char* const name = reads_newest(on) ? "find_unique" : "find_newest_unique";
        return not_new_in(inside(on, name, {queue, unique_key}));
    }
    bool replace(connection& on, const parameters& values) override {
        const char* const name = reads_newest(on) ? "replace" : "replace_newest";
        return !inside(on, name, values).rows.empty();
    }

private:
    // ---- claiming
    // The parameters that bound the number of jobs to look at.
    static constexpr const char *claimed_at_once = "$2", *looked_at_in_turn = "$4";
    std::string claim_text(
        std::string_view name,
        const std::vector<std::string>& kinds,
        std::string_view most,
        parameters* values = nullptr
    ) const;
    statement claim_statement(const std::string& text) const {
        return statement{text, how_->which(), how_->written()};
    }
    bool take(const result& found, const claim_request& wanted, claim_result& got);
    static void add_jobs(const result& found, claim_result& got);
    claim_result claim_in_turn(connection& on, const claim_request& wanted);
    void make_queue(connection& on, const std::string& queue) const;

    // ---- ending
    void complete(
        connection& on, const session_id& whose, const std::vector<job_end>& ends, ended_jobs& done
    ) const;
    void finish_rest(
        connection& on,
        const session_id& whose,
        const std::vector<job_end>& ends,
        const job_retention& kept,
        ended_jobs& done
    ) const;
    known_queues<known_queue> queues_;
    job_inserts inserts_;
    const statement any_kind_;
};

// ---------------------------------------------------------------------------------- enqueuing

// Enqueues one job by one statement that commits, and several jobs all or none.
std::vector<enqueued_job> mysql_job_store::enqueue(
    connection& on, std::string_view queue, const std::vector<new_job>& what
) {
    if (on.state() == connection_state::in_transaction) {
        return sql_job_store::enqueue(on, queue, what);
    }
    return despite_deadlocks([&] {
        if (what.size() <= 1) return sql_job_store::enqueue(on, queue, what);
        on.begin();
        try {
            auto made = sql_job_store::enqueue(on, queue, what);
            on.commit();
            return made;
        } catch (...) {
            on.rollback();
            throw;
        }
    });
}

// ----------------------------------------------------------------------------------- claiming

// The text of a claim. Adds the kinds to the values.
std::string mysql_job_store::claim_text(
    std::string_view name,
    const std::vector<std::string>& kinds,
    std::string_view most,
    parameters* values
) const {
    std::string parts;
    for (const std::string& each : kinds) {
        values->emplace_back(each);
        const std::string number = std::to_string(values->size());
        const std::string part = replaced(texts_.source("first_of_kind"), "{kind}", "$" + number);
        parts += (parts.empty() ? "" : "\nUNION ALL ") + replaced(part, "{number}", number);
    }
    const std::string ones = kinds.empty()
                                 ? std::string{texts_.source("first_of_all")}
                                 : replaced(texts_.source("first_of_kinds"), "{parts}", parts);
    return replaced(replaced(texts_.source(name), "{first_ones}", ones), "{most}", most);
}

claim_result mysql_job_store::claim(connection& on, const claim_request& wanted) {
    if (!queues_.of(wanted.queue).is_claimed_in_turn) {
        parameters values{
            wanted.queue, wanted.max_jobs, value_of(wanted.session), 0, 0, wanted.node_info};
        const result found =
            wanted.kinds.empty()
                ? how_->write(on, any_kind_, values)
                : how_->write(
                      on,
                      claim_statement(claim_text("claim", wanted.kinds, claimed_at_once, &values)),
                      values
                  );
        claim_result got;
        if (take(found, wanted, got)) return got;
    }
    return claim_in_turn(on, wanted);
}

// Takes the answer of `claim`. False if the queue is claimed in turn: then the caller does that.
bool mysql_job_store::take(const result& found, const claim_request& wanted, claim_result& got) {
    using column = columns::job::claim_on_mysql;
    const row& how = found.rows.at(0);
    got.session_has_ended = how.integer(column::is_live) == 0;
    if (got.session_has_ended || how.integer(column::is_paused) != 0) return true;
    if (how.integer(column::is_limited) != 0 || how.integer(column::has_keys) != 0) {
        auto seen = queues_.of(wanted.queue);
        seen.is_claimed_in_turn = true;
        queues_.note(wanted.queue, seen);
        return false;
    }
    add_jobs(found, got);
    return true;
}

void mysql_job_store::add_jobs(const result& found, claim_result& got) {
    constexpr std::size_t priority = columns::job::claim_on_mysql::priority;
    constexpr std::size_t first = columns::job::claim_on_mysql::claimed_columns;
    std::vector<const row*> rows;
    for (const row& each : found.rows) {
        if (!each.is_null(first)) rows.push_back(&each);
    }
    std::ranges::sort(rows, {}, [](const row* each) {
        return std::pair{each->integer(priority), each->integer(first)};
    });
    for (const row* each : rows) got.jobs.push_back(claimed_in(*each, first));
}

claim_result mysql_job_store::claim_in_turn(connection& on, const claim_request& wanted) {
    using column = columns::job::claim_in_turn_on_mysql;
    claim_result got;
    // A look in vain means that somebody has changed the queue's limits.
    constexpr int max_looks = 20;
    for (int look = 0; look < max_looks; ++look) {
        auto seen = queues_.of(wanted.queue);
        const std::int64_t window = std::int64_t{wanted.max_jobs} * 4 + 100;
        parameters values{
            wanted.queue,
            wanted.max_jobs,
            value_of(wanted.session),
            window,
            seen.max_running_per_key,
            wanted.node_info};
        const std::string text = replaced(
            claim_text("claim_in_turn", wanted.kinds, looked_at_in_turn, &values),
            "{skipped}",
            std::to_string(seen.max_running_per_key - 1)
        );
        const result found = how_->write(on, claim_statement(text), values);
        const row& how = found.rows.at(0);
        got.session_has_ended = how.integer(column::is_live) == 0;
        if (got.session_has_ended) return got;
        if (how.integer(column::has_queue) == 0) {
            make_queue(on, wanted.queue);
        } else if (how.integer(column::per_key) == seen.max_running_per_key) {
            add_jobs(found, got);
            return got;
        } else {
            seen.max_running_per_key = how.integer(column::per_key);
            queues_.note(wanted.queue, seen);
        }
    }
    return got;
}

void mysql_job_store::make_queue(connection& on, const std::string& queue) const {
    try {
        write(on, "make_queue", {queue});
    } catch (const error& failure) {
        if (failure.native_code() != duplicate_key_code) throw;
    }
}

// ------------------------------------------------------------------------------------- ending

job_store::end_states mysql_job_store::finish(
    connection& on,
    const session_id& whose,
    const std::vector<job_end>& ends,
    const job_retention& kept
) {
    ended_jobs done;
    const auto is_plain = [&](const job_end& each) { return leaves_nothing(each, kept); };
    if (!ends.empty() && std::ranges::all_of(ends, is_plain)) complete(on, whose, ends, done);
    finish_rest(on, whose, ends, kept, done);
    return states_of(done, ends);
}

void mysql_job_store::complete(
    connection& on, const session_id& whose, const std::vector<job_end>& ends, ended_jobs& done
) const {
    if (ends.size() == 1) {
        const parameters values{value_of(whose), ends[0].id, ends[0].token.number};
        const bool is_inside = on.state() == connection_state::in_transaction;
        const result changed =
            is_inside ? inside(on, "complete_one", values) : write(on, "complete_one", values);
        if (changed.affected_rows == 1) done.emplace(ends[0].id, job_state::completed);
        return;
    }
    const parameters values{value_of(whose), claims_in(ends)};
    for (const job_id each : only_integers(send_in_transaction(on, texts_["complete"], values))) {
        done.emplace(each, job_state::completed);
    }
}

// Carries out the ends that are not done yet, with all that may follow an end.
void mysql_job_store::finish_rest(
    connection& on,
    const session_id& whose,
    const std::vector<job_end>& ends,
    const job_retention& kept,
    ended_jobs& done
) const {
    std::string list;
    bool some_failed = false;
    for (const job_end& each : by_id(ends)) {
        if (done.contains(each.id)) continue;
        some_failed = some_failed || each.has_error();
        list += list.empty() ? "[" : ",[";
        for (const std::int64_t number :
             {each.id,
              each.token.number,
              static_cast<std::int64_t>(each.becomes),
              value_of(each.delay).integer()}) {
            list += std::to_string(number) + ",";
        }
        list += '"' + in_hexadecimal(each.words) + "\"," + std::to_string(kept_after(each, kept)) +
                "," + std::to_string(kept_for(kept.cancelled)) + "]";
    }
    if (list.empty()) return;
    const parameters values{value_of(whose), "[" + list + "]"};
    const auto& text = texts_[some_failed ? "finish_failed" : "finish"];
    note_finished(send_in_transaction(on, text, values), done);
}

job_store::finished_and_claimed mysql_job_store::finish_and_claim(
    connection& on,
    const session_id& whose,
    const std::vector<job_end>& ends,
    const job_retention& kept,
    const claim_request& wanted
) {
    const auto is_plain = [&](const job_end& each) { return leaves_nothing(each, kept); };
    const bool is_fused = !ends.empty() && wanted.session == whose &&
                          !queues_.of(wanted.queue).is_claimed_in_turn &&
                          std::ranges::all_of(ends, is_plain);
    if (!is_fused) return job_store::finish_and_claim(on, whose, ends, kept, wanted);
    parameters values{
        wanted.queue,
        wanted.max_jobs,
        value_of(whose),
        claims_in(ends),
        ends.size(),
        wanted.node_info};
    const std::string text =
        claim_text("complete_and_claim", wanted.kinds, claimed_at_once, &values);
    const result found = how_->write(on, claim_statement(text), values);
    using column = columns::job::complete_and_claim_on_mysql;
    const row& how = found.rows.at(0);
    ended_jobs done;
    if (how.integer(column::completed) == static_cast<std::int64_t>(ends.size())) {
        for (const job_end& each : ends) done.emplace(each.id, job_state::completed);
    } else if (!how.is_null(column::ended)) {
        done = completed_in(how.bytes(column::ended));
    }
    finished_and_claimed both;
    const bool is_all = take(found, wanted, both.claimed);
    finish_rest(on, whose, ends, kept, done);
    both.finished = states_of(done, ends);
    if (!is_all) both.claimed = claim_in_turn(on, wanted);
    return both;
}

std::vector<claim_standing> mysql_job_store::standings(
    connection& on, const session_id& whose, const std::vector<job_claim>& held
) {
    std::set<job_id> ids;
    for (const job_claim& each : held) ids.insert(each.id);
    return standings_in(read(on, "standings", {value_of(whose), list_of(ids)}), held);
}

}  // namespace

std::unique_ptr<job_store> make_job_store(shared_dialect how) {
    return std::make_unique<mysql_job_store>(std::move(how));
}

}  // namespace leasehold::mysql_dialect
