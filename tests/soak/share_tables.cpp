#include "soak/share_tables.hpp"

#include "soak/shares.hpp"

namespace leasehold::soak {

using namespace std::chrono_literals;
using std::to_string;

void run_alone(const database& db, const std::string& sql) {
    transaction tx = db.begin();
    tx.execute(sql);
    tx.commit();
}

// No key on the proofs, as on the entries of lists.
void share_tables::create(const database& db) const {
    const engine which = db.server().engine;
    const bool is_mysql = which == engine::mysql || which == engine::mariadb;
    const std::string own_key =
        is_mysql ? ", entry BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY" : "";
    run_alone(
        db,
        "CREATE TABLE " + prefix_ +
            "soak_share (k BIGINT NOT NULL PRIMARY KEY, number BIGINT NOT NULL, "
            "version BIGINT NOT NULL, claimed_by VARCHAR(120), expires_at BIGINT)"
    );
    run_alone(
        db,
        "CREATE TABLE " + prefix_ +
            "soak_proof (k BIGINT NOT NULL, token BIGINT NOT NULL, process BIGINT NOT NULL, "
            "id BIGINT NOT NULL, number BIGINT NOT NULL" +
            own_key + ")"
    );
    for (const auto kind :
         {share_kind::shared, share_kind::permits, share_kind::task, share_kind::row}) {
        for (int each = 0; each < shares_per_kind; ++each) {
            run_alone(
                db,
                "INSERT INTO " + prefix_ + "soak_share (k, number, version) VALUES (" +
                    to_string(share_of(kind, each)) + ", 0, 0)"
            );
        }
    }
}

void share_tables::drop(const database& db) const {
    for (const char* each : {"soak_share", "soak_proof"})
        run_alone(db, "DROP TABLE " + prefix_ + each);
}

std::int64_t share_tables::number(transaction& tx, int share) const {
    const auto found =
        tx.execute("SELECT number FROM " + prefix_ + "soak_share WHERE k = " + to_string(share));
    return found.rows.at(0).integer(0);
}

void share_tables::set_number(transaction& tx, int share, std::int64_t number) const {
    tx.execute(
        "UPDATE " + prefix_ + "soak_share SET number = " + to_string(number) +
        " WHERE k = " + to_string(share)
    );
}

void share_tables::note_proof(
    transaction& tx,
    int share,
    std::int64_t token,
    int process,
    std::int64_t id,
    std::int64_t number
) const {
    tx.execute(
        "INSERT INTO " + prefix_ + "soak_proof (k, token, process, id, number) VALUES (" +
        to_string(share) + ", " + to_string(token) + ", " + to_string(process) + ", " +
        to_string(id) + ", " + to_string(number) + ")"
    );
}

versioned_mapping share_tables::mapping() const {
    versioned_mapping made;
    made.table = {prefix_ + "soak_share"};
    made.key = {"k"};
    made.version = "version";
    made.claimed_by = "claimed_by";
    made.expires_at = "expires_at";
    made.term = 1s;
    made.times = time_kind::microseconds;
    made.columns = {"number"};
    made.busy_timeout = 300ms;
    return made;
}

void share_tables::add_content(transaction& tx, std::vector<record>& to) const {
    const auto proofs =
        tx.execute("SELECT k, token, process, id, number FROM " + prefix_ + "soak_proof");
    for (const row& each : proofs.rows) {
        record made;
        made.what = operation::proof;
        made.when = phase::note;
        made.key = static_cast<int>(each.integer(0));
        made.token = each.integer(1);
        made.process = static_cast<int>(each.integer(2));
        made.id = each.integer(3);
        made.number = each.integer(4);
        to.push_back(std::move(made));
    }
    const auto states = tx.execute("SELECT k, number, version FROM " + prefix_ + "soak_share");
    for (const row& each : states.rows) {
        record made;
        made.what = operation::state;
        made.when = phase::note;
        made.key = static_cast<int>(each.integer(0));
        made.number = each.integer(1);
        made.token = each.integer(2);
        to.push_back(std::move(made));
    }
}

}  // namespace leasehold::soak
