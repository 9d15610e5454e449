// A mutex: takes a key, works, writes with proof and without.
#include <map>

#include "soak/duties/workplace.hpp"

namespace leasehold::soak {
namespace {

using namespace std::chrono_literals;

// This process's knowledge of the grant it works under.
struct grant {
    int key;
    std::int64_t id;
    std::int64_t token;
};

class mutexes : public duty {
public:
    explicit mutexes(workplace& at) : at_(at) {}

    void run() override {
        // Takes one of a set now and then: sets and single keys exclude each other.
        const int key = at_.one_in(6) ? at_.between(mutex_count, key_count - 1)
                                      : at_.between(0, mutex_count - 1);
        if (at_.one_in(20)) free_by_force(key);
        hold(key);
    }

private:
    void free_by_force(int key) {
        record what;
        what.what = operation::force;
        what.key = key;
        at_.step(what, [&](record& outcome) {
            const auto freed = force_release(at_.database(), key_of(key));
            if (!freed) return phase::fail;
            outcome.token = freed->token.number;
            return phase::ok;
        });
    }

    void hold(int key) {
        mutex name{at_.session(), key_of(key)};
        std::optional<lease> held;
        grant mine{key, 0, 0};
        record what;
        what.what = operation::acquire;
        what.key = key;
        at_.step(what, [&](record& outcome) {
            acquisition got = name.acquire_for(500ms);
            if (!got) return phase::fail;
            held.emplace(*std::move(got));
            outcome.token = held->token().number;
            if (at_.has_plant("reuse_token")) reuse(outcome);
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
        if (at_.has_plant("ignore_deadline")) return INT64_MAX;
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
            seen = at_.tables().read(at_.database(), mine.key);
        } catch (const error&) {
            give_back(held, mine);
            return;
        }
        at_.stay(place::working, 5, 50, held.lost());
        note_loss(held, mine);
        const int appends = at_.one_in(3) ? 2 : 1;
        for (int done = 0; done < appends; ++done) {
            if (append(held, mine, ++seen.counter) != phase::ok) break;
        }
        // It writes also after a refusal, like a program that asks nobody.
        write_back(held, mine, seen.value + 1);
        give_back(held, mine);
    }

    void note_loss(const lease& held, const grant& mine) {
        if (held.why_lost() == loss_reason::none || at_.has_plant("ignore_deadline")) return;
        record lost = under(held, mine, operation::belief);
        lost.when = phase::fail;
        lost.detail = name_of(held.why_lost());
        at_.write(lost);
    }

    phase append(lease& held, const grant& mine, std::int64_t counter) {
        return at_.step(under(held, mine, operation::append), [&](record& what) {
            transaction tx = at_.database().begin();
            at_.tables().append(tx, mine.key, mine.token, at_.given().process, what.id, counter);
            const bool lingers = at_.one_in(4);
            const bool is_before = at_.between(0, 1) == 0;
            if (lingers && is_before) at_.linger_in_transaction();
            if (!at_.has_plant("unfenced_append")) {
                try {
                    held.verify_in(tx);
                } catch (const error& failure) {
                    if (failure.code() != errc::lease_lost) throw;
                    const bool by_server = held.why_lost() == loss_reason::taken_over;
                    what.detail = by_server ? "refused by the database" : "refused locally";
                    return phase::fail;
                }
            }
            if (lingers && !is_before) at_.linger_in_transaction();
            tx.commit();
            return phase::ok;
        });
    }

    void write_back(lease& held, const grant& mine, std::int64_t value) {
        at_.step(under(held, mine, operation::control), [&](record&) {
            transaction tx = at_.database().begin();
            at_.tables().set_value(tx, mine.key, value);
            if (at_.has_plant("fenced_control")) held.verify_in(tx);
            tx.commit();
            return phase::ok;
        });
    }

    void give_back(lease& held, const grant& mine) {
        at_.step(under(held, mine, operation::release), [&](record&) {
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

    workplace& at_;
    std::map<int, std::int64_t> tokens_;  // of the planted bug
};

}  // namespace

std::unique_ptr<duty> mutex_duty(workplace& at) {
    return std::make_unique<mutexes>(at);
}

}  // namespace leasehold::soak
