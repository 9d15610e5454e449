// The same form arrives twice: on two nodes at the same moment, or again after a crash. Its work is
// done once, and both senders get the same answer. Run several at once:
//
//   submit URL FORM CENTS          prints the receipt, once made and ever after
//   submit URL FORM CENTS crash    dies in the middle of the work
//
// The form's number comes with it, made where it was filled in: it names the key and the answer.
#include <signal.h>

#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <optional>
#include <string>

#include "leasehold/leasehold.hpp"

namespace {

using namespace std::chrono_literals;

std::optional<std::int64_t> answer_of(leasehold::transaction& tx, const std::string& form) {
    const auto found = tx.execute("SELECT receipt FROM answer WHERE form = $1", {form}).rows;
    if (found.empty()) return std::nullopt;
    return found[0].integer(0);
}

// Work and answer are one commit, under the key of this form alone. A node that died before the
// commit has done nothing; a node that comes after it finds the answer, and does nothing. The proof
// makes sure that a node that was paused for longer than its session lives does not do the work
// twice.
std::int64_t submit(
    leasehold::database& db,
    leasehold::session& node,
    const std::string& form,
    std::int64_t cents,
    bool crashes
) {
    leasehold::mutex one_at_a_time{node, leasehold::key{"form/" + form}};
    auto lease = one_at_a_time.acquire_for(30s);
    if (!lease) throw std::runtime_error("others are still at work on this form: send it again");
    leasehold::transaction tx = db.begin();  // after the grant: it sees what the last one wrote
    if (const auto known = answer_of(tx, form)) return *known;
    tx.execute("INSERT INTO charge (form, cents) VALUES ($1, $2)", {form, cents});
    if (crashes) raise(SIGKILL);
    const std::int64_t receipt = lease->token().number;
    tx.execute("INSERT INTO answer (form, receipt) VALUES ($1, $2)", {form, receipt});
    lease->verify_in(tx);
    tx.commit();
    return receipt;
}

}  // namespace

int main(int count, char** arguments) {
    if (count != 4 && count != 5) {
        std::cerr << "usage: submit URL FORM CENTS [crash]\n";
        return 64;
    }
    try {
        leasehold::database db = leasehold::open(arguments[1]);
        leasehold::migrate(db);
        for (const char* const table :
             {"CREATE TABLE IF NOT EXISTS charge (form VARCHAR(40), cents BIGINT)",
              "CREATE TABLE IF NOT EXISTS answer (form VARCHAR(40) PRIMARY KEY, receipt BIGINT)"}) {
            db.execute(table);
        }
        // Nobody waits longer than this for the key of a node that has died.
        leasehold::session node{db, {.name = "shop", .ttl = 5s}};
        const std::int64_t cents = std::strtoll(arguments[3], nullptr, 10);
        std::cout << "receipt " << submit(db, node, arguments[2], cents, count == 5) << '\n';
    } catch (const std::exception& failure) {
        std::cerr << "submit: " << failure.what() << '\n';
        return 1;
    }
}
