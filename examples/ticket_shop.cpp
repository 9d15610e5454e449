// A ticket shop that must not sell a seat twice, three ways, and a buyer that is paused at the
// worst moment: after looking at a free seat, and until somebody else has bought it.
//
//   ticket_shop URL version|rows|lock [--runs N] [--seed S] [--unguarded]
//
// version: the seat table has a version column; a buyer that has read an old version buys nothing.
// rows:    the seat's row is locked from the look to the commit.
// lock:    a lock per seat, whose lease may run out, and a proof of it in the buying transaction.
// The first two sell every seat; with the third one is left where a lease ran out at the wrong
// moment. Exit status 3: seats were left that should have been sold.
// --unguarded takes each one's guard away, and then seats are sold twice, though not in every run:
// exit status 1 where one was.
#include <algorithm>
#include <atomic>
#include <cstring>
#include <iostream>
#include <numeric>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "leasehold/leasehold.hpp"
#ifdef TICKET_SHOP_SQLITE
#include "leasehold/driver/sqlite.hpp"
#endif
#ifdef TICKET_SHOP_POSTGRES
#include "leasehold/driver/postgres.hpp"
#endif
#ifdef TICKET_SHOP_MYSQL
#include "leasehold/driver/mysql.hpp"
#endif

namespace {

using namespace std::chrono_literals;
using leasehold::comparison;

constexpr int seats = 3;
constexpr int buyers = 4;

leasehold::database open(const std::string& url) {
    leasehold::database_settings settings;
    settings.names.prefix = "shop_";  // tables of its own, which go when it closes
#ifdef TICKET_SHOP_POSTGRES
    if (url.rfind("postgresql:", 0) == 0) return leasehold::postgres::open(url, settings);
#endif
#ifdef TICKET_SHOP_MYSQL
    if (url.rfind("mysql:", 0) == 0) return leasehold::mysql::open(url, settings);
#endif
#ifdef TICKET_SHOP_SQLITE
    if (url.rfind("sqlite:", 0) == 0) return leasehold::sqlite::open(url, settings);
#endif
    throw leasehold::error(leasehold::errc::invalid_argument, "no driver for this URL");
}

class shop {
public:
    shop(const std::string& url, bool is_guarded, unsigned seed)
        : db_(open(url)), is_guarded_(is_guarded), random_(seed) {
        leasehold::migrate(db_);
        session_.emplace(db_, leasehold::session_settings{.name = "ticket_shop"});
        drop_tables();
        run("CREATE TABLE shop_seat (id BIGINT PRIMARY KEY, status VARCHAR(10) NOT NULL,"
            " version BIGINT NOT NULL)");
        run("CREATE TABLE shop_sale (seat BIGINT NOT NULL, buyer BIGINT NOT NULL)");
        for (int id = 0; id < seats; ++id) {
            run("INSERT INTO shop_seat VALUES (" + std::to_string(id) + ", 'free', 1)");
        }
    }

    // Leaves nothing behind.
    void close() {
        drop_tables();
        session_->end();
        leasehold::migrate_down(db_, 0);
    }

    // Over all that sell_out() sold.
    int seats_sold() const { return seats_sold_; }

    // Everybody buys one seat, if there is one left; answers with how many were sold twice.
    int sell_out(const std::string& variant) {
        run("DELETE FROM shop_sale");
        run("UPDATE shop_seat SET status = 'free', version = 1");
        sold_ = 0;
        {
            std::vector<std::jthread> crowd;
            for (int buyer = 0; buyer < buyers; ++buyer) {
                crowd.emplace_back([this, buyer, seed = random_(), &variant] {
                    visit(buyer, variant, std::mt19937{static_cast<unsigned>(seed)});
                });
            }
        }
        leasehold::transaction tx = db_.begin();
        const auto twice =
            tx.execute("SELECT seat FROM shop_sale GROUP BY seat HAVING COUNT(*) > 1");
        seats_sold_ += static_cast<int>(
            tx.execute("SELECT COUNT(DISTINCT seat) FROM shop_sale").rows.at(0).integer(0)
        );
        return static_cast<int>(twice.rows.size());
    }

private:
    void drop_tables() {
        run("DROP TABLE IF EXISTS shop_seat");
        run("DROP TABLE IF EXISTS shop_sale");
    }

    void visit(int buyer, const std::string& variant, std::mt19937 random) {
        std::vector<int> wanted(seats);
        std::iota(wanted.begin(), wanted.end(), 0);
        std::shuffle(wanted.begin(), wanted.end(), random);
        const bool is_paused = buyer == 0;
        for (const int seat : wanted) {
            const auto pause = [&] {
                std::uniform_int_distribution<int> microseconds{0, 2000};
                std::this_thread::sleep_for(std::chrono::microseconds{microseconds(random)});
                // The unlucky one stands still until the shop is sold out, or for 20 ms.
                for (int each = 0; is_paused && each < 20 && sold_ < seats; ++each) {
                    std::this_thread::sleep_for(1ms);
                }
            };
            const bool has_bought = variant == "version" ? buy_by_version(seat, buyer, pause)
                                    : variant == "rows"  ? buy_by_row(seat, buyer, pause)
                                                         : buy_by_lock(seat, buyer, pause);
            if (has_bought) return;
        }
    }

    template <class Pause>
    bool buy_by_version(int seat, int buyer, Pause&& pause) {
        leasehold::transaction looking = db_.begin();
        const auto seen = by_version_.read_in(looking, {seat});
        looking.commit();
        if (!seen || seen->columns.text(0) != "free") return false;
        pause();  // while the buyer makes up their mind
        leasehold::transaction tx = db_.begin();
        if (!is_guarded_) {
            mark_sold(tx, seat);
        } else if (!by_version_.try_claim_in(tx, *seen)) {
            return false;
        }
        return record(tx, seat, buyer);
    }

    template <class Pause>
    bool buy_by_row(int seat, int buyer, Pause&& pause) {
        leasehold::transaction tx = db_.begin();
        if (!is_guarded_) {
            if (!is_free(tx, seat)) return false;
            tx.commit();
            pause();
            tx = db_.begin();
        } else {
            if (!by_row_.claim_in(tx, {seat}, leasehold::nowait)) return false;
            pause();  // nobody else can have the row meanwhile
        }
        mark_sold(tx, seat);
        return record(tx, seat, buyer);
    }

    template <class Pause>
    bool buy_by_lock(int seat, int buyer, Pause&& pause) {
        leasehold::mutex_settings brief;
        // Far too short for a paused buyer. Unguarded it is the least there is: a buyer that comes
        // while it runs goes on to another seat and stays away, so that nothing is sold twice.
        brief.fixed_term = is_guarded_ ? 3ms : 1ms;
        leasehold::mutex mine{*session_, "seat/" + std::to_string(seat), brief};
        auto lease = mine.try_acquire();
        if (!lease) return false;
        leasehold::transaction looking = db_.begin();
        const bool can_have_it = is_free(looking, seat);
        looking.commit();
        if (!can_have_it) return false;
        pause();  // long enough for the lease to run out, and somebody else to buy
        leasehold::transaction tx = db_.begin();
        mark_sold(tx, seat);
        try {
            if (is_guarded_) lease->verify_in(tx);
        } catch (const leasehold::error& failure) {
            if (failure.code() != leasehold::errc::lease_lost) throw;
            return false;  // the transaction is rolled back: nothing was sold
        }
        return record(tx, seat, buyer);
    }

    static bool is_free(leasehold::transaction& tx, int seat) {
        const auto found =
            tx.execute("SELECT status FROM shop_seat WHERE id = " + std::to_string(seat));
        return found.rows.at(0).text(0) == "free";
    }
    static void mark_sold(leasehold::transaction& tx, int seat) {
        tx.execute("UPDATE shop_seat SET status = 'sold' WHERE id = " + std::to_string(seat));
    }
    bool record(leasehold::transaction& tx, int seat, int buyer) {
        tx.execute(
            "INSERT INTO shop_sale VALUES (" + std::to_string(seat) + ", " + std::to_string(buyer) +
            ")"
        );
        tx.commit();
        ++sold_;
        return true;
    }
    void run(const std::string& sql) {
        leasehold::transaction tx = db_.begin();
        tx.execute(sql);
        tx.commit();
    }

    const leasehold::database db_;
    std::optional<leasehold::session> session_;
    const bool is_guarded_;
    std::mt19937 random_;
    std::atomic<int> sold_ = 0;
    int seats_sold_ = 0;
    const leasehold::versioned_claim by_version_{
        {.table = "shop_seat",
         .key = {"id"},
         .version = "version",
         .state = {"status", "free", "sold"},
         .columns = {"status"}}};
    const leasehold::row_claim by_row_{
        {.table = "shop_seat", .key = {"id"}, .where = {{"status", comparison::equal, "free"}}}};
};

}  // namespace

int main(int count, char** arguments) {
    const std::vector<std::string> words(arguments + 1, arguments + count);
    const auto after = [&](const char* name, unsigned otherwise) {
        const auto found = std::find(words.begin(), words.end(), name);
        if (found == words.end() || found + 1 == words.end()) return otherwise;
        return static_cast<unsigned>(std::stoul(*(found + 1)));
    };
    if (words.size() < 2) {
        std::cerr << "usage: ticket_shop URL version|rows|lock [--runs N] [--unguarded]\n";
        return 64;
    }
    try {
        const bool is_guarded = std::find(words.begin(), words.end(), "--unguarded") == words.end();
        const unsigned runs = after("--runs", 20);
        const unsigned seed = after("--seed", std::random_device{}());
        shop selling{words[0], is_guarded, seed};
        int twice = 0;
        for (unsigned each = 0; each < runs; ++each) twice += selling.sell_out(words[1]);
        selling.close();
        const int offered = static_cast<int>(runs) * seats;
        const int sold = selling.seats_sold();
        std::cout << words[1] << (is_guarded ? "" : ", unguarded") << ": " << runs << " runs, "
                  << sold << " of " << offered << " seats sold, " << twice
                  << " of them twice (seed " << seed << ")\n";
        if (twice > 0) return 1;
        // Leases of 3 ms may all run out, where a commit takes longer.
        return sold == offered || words[1] == "lock" ? 0 : 3;
    } catch (const std::exception& failure) {
        std::cerr << "ticket_shop: " << failure.what() << '\n';
        return 2;
    }
}
