#include "soak/jobs/job_tables.hpp"

#include "leasehold/job_queue.hpp"
#include "soak/share_tables.hpp"

namespace leasehold::soak {

using std::to_string;

std::string name_of_queue(int queue) {
    return "soak/" + to_string(queue);
}

void job_tables::create(const database& db) const {
    const engine which = db.server().engine;
    const bool is_mysql = which == engine::mysql || which == engine::mariadb;
    const std::string own_key =
        is_mysql ? ", entry BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY" : "";
    run_alone(
        db,
        "CREATE TABLE " + prefix_ +
            "soak_done (job BIGINT NOT NULL, token BIGINT NOT NULL, process BIGINT NOT NULL, "
            "id BIGINT NOT NULL" +
            own_key + ")"
    );
    queue_limits limits;
    limits.max_running = max_running;
    job_queue{db, name_of_queue(limited_queue)}.set_limits(limits);
}

void job_tables::drop(const database& db) const {
    run_alone(db, "DROP TABLE " + prefix_ + "soak_done");
}

void job_tables::note_effect(
    transaction& tx, std::int64_t job, std::int64_t token, int process, std::int64_t id
) const {
    tx.execute(
        "INSERT INTO " + prefix_ + "soak_done (job, token, process, id) VALUES (" + to_string(job) +
        ", " + to_string(token) + ", " + to_string(process) + ", " + to_string(id) + ")"
    );
}

void job_tables::add_content(transaction& tx, std::vector<record>& to) const {
    const auto rows = tx.execute("SELECT job, token, process, id FROM " + prefix_ + "soak_done");
    for (const row& each : rows.rows) {
        record made;
        made.what = operation::done;
        made.when = phase::note;
        made.number = each.integer(0);
        made.token = each.integer(1);
        made.process = static_cast<int>(each.integer(2));
        made.id = each.integer(3);
        to.push_back(std::move(made));
    }
    const auto left = tx.execute("SELECT id, state FROM " + prefix_ + "job");
    for (const row& each : left.rows) {
        record made;
        made.what = operation::left;
        made.when = phase::note;
        made.number = each.integer(0);
        made.detail = name_of(static_cast<job_state>(each.integer(1)));
        to.push_back(std::move(made));
    }
}

void job_tables::take_from_the_living(transaction& tx) const {
    const auto running =
        tx.execute("SELECT MIN(id) FROM " + prefix_ + "job WHERE state = 3").rows.at(0);
    if (running.is_null(0)) return;
    tx.execute(
        "UPDATE " + prefix_ + "job SET state = 2, session_id = NULL WHERE state = 3 AND id = " +
        to_string(running.integer(0))
    );
}

}  // namespace leasehold::soak
