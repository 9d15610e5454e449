// An outbox: the e-mail about an order is written in the order's own transaction, and sent by
// whichever of several dispatchers claims it. None is lost, and none is sent by two.
//
//   outbox sqlite:PATH
//
// Sending is not part of the transaction: a dispatcher that dies between sending and its commit has
// sent an e-mail that will be sent again. At least once is all there is; put the row's id into the
// message, so that the receiver can tell.
#include <iostream>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "leasehold/driver/sqlite.hpp"
#include "leasehold/leasehold.hpp"

namespace {

constexpr int orders = 60;
constexpr int dispatchers = 4;

void place_order(const leasehold::database& db, int order) {
    leasehold::transaction tx = db.begin();
    tx.execute("INSERT INTO shop_order (id) VALUES (?)", {order});
    tx.execute(
        "INSERT INTO outbox (state, recipient) VALUES ('waiting', ?)",
        {"buyer" + std::to_string(order) + "@example.org"}
    );
    tx.commit();  // both, or neither
}

class post_office {
public:
    void send(const std::string& recipient) {
        const std::lock_guard guard{mutex_};
        ++sent_[recipient];
    }
    bool has_sent_each_once() const {
        for (const auto& [recipient, times] : sent_) {
            if (times != 1) return false;
        }
        return sent_.size() == orders;
    }

private:
    std::mutex mutex_;
    std::map<std::string, int> sent_;
};

void dispatch(
    const leasehold::database& db, const leasehold::row_claim& waiting, post_office& office
) {
    for (bool has_more = true; has_more;) {
        leasehold::transaction tx = db.begin();
        const auto mine = waiting.claim_some_in(tx, 5, leasehold::skip_locked);
        for (const leasehold::claimed_row& each : mine.rows) {
            office.send(each.columns.text(0));
            tx.execute("UPDATE outbox SET state = 'sent' WHERE id = ?", {each.key.at(0)});
        }
        tx.commit();
        has_more = !mine.rows.empty();
    }
}

}  // namespace

int main(int count, char** arguments) {
    if (count != 2) {
        std::cerr << "usage: outbox sqlite:PATH\n";
        return 64;
    }
    try {
        const leasehold::database db = leasehold::sqlite::open(arguments[1]);
        leasehold::migrate(db);
        {
            leasehold::transaction tx = db.begin();
            tx.execute("CREATE TABLE shop_order (id INTEGER PRIMARY KEY)");
            tx.execute(
                "CREATE TABLE outbox (id INTEGER PRIMARY KEY, state TEXT NOT NULL,"
                " recipient TEXT NOT NULL)"
            );
            tx.execute("CREATE INDEX outbox_waiting ON outbox (state, id)");
            tx.commit();
        }
        for (int order = 1; order <= orders; ++order) place_order(db, order);

        const leasehold::row_claim waiting{
            {.table = "outbox",
             .key = {"id"},
             .columns = {"recipient"},
             .where = {{"state", leasehold::comparison::equal, "waiting"}},
             .order = {"id"}}};
        waiting.check(db);  // a wrong name is an error here, and not in the night
        post_office office;
        {
            std::vector<std::jthread> threads;
            for (int each = 0; each < dispatchers; ++each) {
                threads.emplace_back([&] { dispatch(db, waiting, office); });
            }
        }
        std::cout << orders << " e-mails, "
                  << (office.has_sent_each_once() ? "each sent once" : "not each sent once")
                  << '\n';
        return office.has_sent_each_once() ? 0 : 1;
    } catch (const leasehold::error& failure) {
        std::cerr << "outbox: " << failure.what() << '\n';
        return 2;
    }
}
