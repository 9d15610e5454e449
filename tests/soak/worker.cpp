// One worker of a soak run: takes keys, works, writes with proof and without, and records all of
// it, until it is told to stop or killed.
//
//   soak_worker WORKER PROCESS SEED FOLDER PREFIX      the URL is in LEASEHOLD_SOAK_URL
//
// LEASEHOLD_SOAK_PLANT makes it wrong on purpose, to show that the checkers see it.
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <optional>
#include <random>
#include <string>

#include "leasehold/leasehold.hpp"
#include "soak/history.hpp"
#include "soak/signals.hpp"
#include "soak/tables.hpp"
#include "support/eventually.hpp"

namespace leasehold::soak {
namespace {

using namespace std::chrono_literals;
using std::chrono::milliseconds;

struct settings {
    int worker = 0;
    int process = 0;
    std::uint64_t seed = 0;
    std::string folder;
    std::string prefix;
    std::string url;
    std::string plant;
};

class worker {
public:
    explicit worker(const settings& given)
        : given_(given),
          history_(given.folder, given.process),
          page_(signal_page::open(given.folder + "/signals")),
          tables_(given.prefix),
          database_(open_database(given.url, given.prefix, time_outs::of_workers)),
          random_(given.seed) {}

    void run() {
        while (!page_.is_over()) {
            if (!has_session()) {
                testing::stopped({}, milliseconds{between(20, 120)});
                continue;
            }
            const int key = between(0, key_count - 1);
            if (between(1, 20) == 1) free_by_force(key);
            hold(key);
        }
    }

private:
    // What this process knows of the grant it works under.
    struct grant {
        int key;
        std::int64_t id;
        std::int64_t token;
    };

    int between(int least, int most) {
        return std::uniform_int_distribution<int>(least, most)(random_);
    }

    void write(record what) {
        const bool is_answer = what.when == phase::ok || what.when == phase::fail;
        history_.write(std::move(what));
        if (is_answer) ++page_.operations();
    }

    // Runs `work`, which answers with ok or fail, between an invoke and its outcome.
    template <class Work>
    phase step(record what, Work&& work) {
        what.id = history_.next_id();
        what.when = phase::invoke;
        write(what);
        what.until_ns = 0;
        try {
            what.when = work(what);
        } catch (const error& failure) {
            what.when = failure.outcome_is_unknown() ? phase::unknown : phase::fail;
            what.detail = std::string(name_of(failure.code())) + ": " + failure.what();
        }
        write(what);
        return what.when;
    }

    bool has_session() {
        if (session_ && session_->is_live()) return true;
        session_.reset();
        record what;
        what.what = operation::session;
        const phase outcome = step(what, [&](record&) {
            session_settings chosen;
            chosen.name = "soak-" + std::to_string(given_.process);
            chosen.ttl = 1s;
            chosen.reap_every = 5s;
            session_.emplace(database_, chosen);
            return phase::ok;
        });
        return outcome == phase::ok;
    }

    void free_by_force(int key) {
        record what;
        what.what = operation::force;
        what.key = key;
        step(what, [&](record& outcome) {
            const auto freed = force_release(database_, key_of(key));
            if (!freed) return phase::fail;
            outcome.token = freed->token.number;
            return phase::ok;
        });
    }

    void hold(int key) {
        mutex name{*session_, key_of(key)};
        std::optional<lease> held;
        grant mine{key, 0, 0};
        record what;
        what.what = operation::acquire;
        what.key = key;
        step(what, [&](record& outcome) {
            acquisition got = name.acquire_for(500ms);
            if (!got) return phase::fail;
            held.emplace(*std::move(got));
            outcome.token = held->token().number;
            if (given_.plant == "reuse_token") reuse(outcome);
            outcome.until_ns = believed_until(*held);
            mine.id = outcome.id;
            mine.token = outcome.token;
            return phase::ok;
        });
        if (held) use(*held, mine);
    }

    void reuse(record& outcome) {
        std::int64_t& last = tokens_[outcome.key];
        if (last == 0) last = outcome.token;
        outcome.token = last;
    }

    std::int64_t believed_until(const lease& held) const {
        if (given_.plant == "ignore_deadline") return INT64_MAX;
        return held.held_locally() ? held.deadline().time_since_epoch().count() : 0;
    }

    record under(const lease& held, const grant& mine, operation what) const {
        record made;
        made.what = what;
        made.key = mine.key;
        made.grant = mine.id;
        made.token = mine.token;
        made.until_ns = believed_until(held);
        return made;
    }

    void use(lease& held, const grant& mine) {
        counters seen;
        try {
            seen = tables_.read(database_, mine.key);
        } catch (const error&) {
            give_back(held, mine);
            return;
        }
        page_.place_of(given_.worker) = place::working;
        testing::stopped(held.lost(), milliseconds{between(5, 50)});
        page_.place_of(given_.worker) = place::elsewhere;
        note_loss(held, mine);
        const int appends = between(1, 3) == 1 ? 2 : 1;
        for (int done = 0; done < appends; ++done) {
            if (append(held, mine, ++seen.counter) != phase::ok) break;
        }
        // Also after a refusal: this is what a program does that asks nobody.
        write_back(held, mine, seen.value + 1);
        give_back(held, mine);
    }

    void note_loss(const lease& held, const grant& mine) {
        if (held.why_lost() == loss_reason::none || given_.plant == "ignore_deadline") return;
        record lost = under(held, mine, operation::belief);
        lost.when = phase::fail;
        lost.detail = name_of(held.why_lost());
        write(lost);
    }

    phase append(lease& held, const grant& mine, std::int64_t counter) {
        return step(under(held, mine, operation::append), [&](record& what) {
            transaction tx = database_.begin();
            tables_.append(tx, mine.key, mine.token, given_.process, what.id, counter);
            const bool lingers = between(1, 4) == 1;
            const bool is_before = between(0, 1) == 0;
            if (lingers && is_before) linger_in_transaction();
            if (given_.plant != "unfenced_append") {
                try {
                    held.verify_in(tx);
                } catch (const error& failure) {
                    if (failure.code() != errc::lease_lost) throw;
                    const bool by_server = held.why_lost() == loss_reason::taken_over;
                    what.detail = by_server ? "refused by the database" : "refused locally";
                    return phase::fail;
                }
            }
            if (lingers && !is_before) linger_in_transaction();
            tx.commit();
            return phase::ok;
        });
    }

    void linger_in_transaction() {
        page_.place_of(given_.worker) = place::in_transaction;
        testing::stopped({}, milliseconds{between(2, 6)});
        page_.place_of(given_.worker) = place::elsewhere;
    }

    void write_back(lease& held, const grant& mine, std::int64_t value) {
        step(under(held, mine, operation::control), [&](record&) {
            transaction tx = database_.begin();
            tables_.set_value(tx, mine.key, value);
            if (given_.plant == "fenced_control") held.verify_in(tx);
            tx.commit();
            return phase::ok;
        });
    }

    void give_back(lease& held, const grant& mine) {
        step(under(held, mine, operation::release), [&](record&) {
            switch (held.release()) {
                case release_outcome::released:
                    return phase::ok;
                case release_outcome::unknown:
                    return phase::unknown;
                default:
                    return phase::fail;
            }
        });
    }

    const settings given_;
    history_writer history_;
    signal_page page_;
    const tables tables_;
    const database database_;
    std::mt19937_64 random_;
    std::optional<session> session_;
    std::map<int, std::int64_t> tokens_;  // of the planted bug
};

}  // namespace
}  // namespace leasehold::soak

int main(int count, char** arguments) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);  // none stays behind, not even a stopped one
    const char* const url = std::getenv("LEASEHOLD_SOAK_URL");
    const char* const plant = std::getenv("LEASEHOLD_SOAK_PLANT");
    if (count != 6 || !url) {
        std::fputs("soak_worker is started by soak\n", stderr);
        return 64;
    }
    try {
        leasehold::soak::worker{{std::stoi(arguments[1]),
                                 std::stoi(arguments[2]),
                                 std::stoull(arguments[3]),
                                 arguments[4],
                                 arguments[5],
                                 url,
                                 plant ? plant : ""}}
            .run();
    } catch (const std::exception& failure) {
        std::fprintf(stderr, "soak_worker %s: %s\n", arguments[2], failure.what());
        return 1;
    }
    return 0;
}
