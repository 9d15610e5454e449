// Duties with shares, which have a weight: a shared mutex, permits, a run of a task.
#include "soak/duties/workplace.hpp"
#include "soak/shares.hpp"

namespace leasehold::soak {
namespace {

using namespace std::chrono_literals;

class share_holder : public duty {
public:
    explicit share_holder(workplace& at) : at_(at) {}

protected:
    static std::int64_t believed_until(const lease& held) {
        return held.held_locally() ? held.deadline().time_since_epoch().count() : 0;
    }

    record taking(share_kind kind, std::int64_t weight) {
        record made;
        made.what = operation::take;
        made.key = share_of(kind, at_.between(0, shares_per_kind - 1));
        made.number = weight;
        return made;
    }

    // `get` answers with a lease, or none; its grant is what record `mine` becomes.
    template <class Get>
    std::optional<lease> take(record& mine, Get&& get) {
        std::optional<lease> held;
        at_.step(mine, [&](record& outcome) {
            mine.id = outcome.id;
            acquisition got = get();
            if (!got) return phase::fail;
            held.emplace(*std::move(got));
            granted(outcome, *held);
            mine.token = outcome.token;
            return phase::ok;
        });
        return held;
    }
    static void granted(record& outcome, const lease& held) {
        outcome.token = held.token().number;
        outcome.until_ns = believed_until(held);
    }

    record under(const lease& held, const record& mine, operation what) const {
        record made;
        made.what = what;
        made.key = mine.key;
        made.grant = mine.id;
        made.token = mine.token;
        made.until_ns = believed_until(held);
        return made;
    }

    void work(const lease& held, const record& mine) {
        at_.stay(place::holding, 5, 40, held.lost());
        if (held.why_lost() == loss_reason::none) return;
        record lost = under(held, mine, operation::belief);
        lost.when = phase::fail;
        lost.detail = name_of(held.why_lost());
        at_.write(lost);
    }

    // `effect` writes under `verify`, in one transaction, and says what number it has written.
    template <class Effect, class Verify>
    phase prove(const lease& held, const record& mine, Effect&& effect, Verify&& verify) {
        return at_.step(under(held, mine, operation::prove), [&](record& what) {
            transaction tx = at_.database().begin();
            what.number = effect(tx);
            at_.tables().shares().note_proof(
                tx, what.key, what.token, at_.given().process, what.id, what.number
            );
            if (at_.one_in(4)) at_.linger_in_transaction();
            try {
                verify(tx);
            } catch (const error& failure) {
                if (failure.code() != errc::lease_lost) throw;
                what.detail = "refused";
                return phase::fail;
            }
            record passed;
            passed.id = what.id;
            passed.what = operation::proved;
            passed.when = phase::note;
            passed.key = what.key;
            passed.number = now_ns();
            if (at_.one_in(2)) at_.linger_in_transaction();
            at_.write(passed);
            tx.commit();
            return phase::ok;
        });
    }

    void give_back(lease& held, const record& mine) {
        at_.step(under(held, mine, operation::yield), [&](record&) {
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
};

class readers_and_writers : public share_holder {
public:
    using share_holder::share_holder;

    void run() override {
        const bool writes = at_.one_in(3);
        record mine = taking(share_kind::shared, writes ? max_readers : 1);
        shared_mutex name{at_.session(), key_of(mine.key)};
        auto held = take(mine, [&] {
            return writes ? name.acquire_for(700ms) : name.acquire_shared_for(500ms);
        });
        if (!held) return;
        const bool lets_go = at_.has_plant("late_share");  // and writes all the same
        if (lets_go) {
            held->release();
            at_.stay(place::holding, 20, 60);
        }
        work(*held, mine);
        const int proofs = at_.one_in(3) ? 2 : 1;
        for (int done = 0; done < proofs; ++done) {
            const auto effect = [&](transaction& tx) { return see_and_write(tx, mine, writes); };
            const auto verify = [&](transaction& tx) {
                if (!lets_go) held->verify_in(tx);
            };
            if (prove(*held, mine, effect, verify) != phase::ok) break;
        }
        give_back(*held, mine);
    }

private:
    std::int64_t see_and_write(transaction& tx, const record& mine, bool writes) {
        const auto& rows = at_.tables().shares();
        const std::int64_t seen = rows.number(tx, mine.key);
        if (!writes) return seen;
        rows.set_number(tx, mine.key, seen + 1);
        return seen + 1;
    }
};

class permit_holders : public share_holder {
public:
    using share_holder::share_holder;

    void run() override {
        record mine = taking(share_kind::permits, at_.one_in(3) ? 2 : 1);
        semaphore name{at_.session(), key_of(mine.key), capacity_of(mine.key)};
        auto held = take(mine, [&] { return name.acquire_for(500ms, mine.number); });
        if (!held) return;
        work(*held, mine);
        prove(
            *held,
            mine,
            [](transaction&) { return std::int64_t{0}; },
            [&](transaction& tx) { held->verify_in(tx); }
        );
        give_back(*held, mine);
    }
};

// A run that is refused, or loses its lease, is simply left: somebody else has its tick.
class task_runners : public share_holder {
public:
    using share_holder::share_holder;

    void run() override {
        record mine = taking(share_kind::task, 1);
        once task{at_.session(), key_of(mine.key), schedule::every(1s)};
        std::optional<task_run> started;
        at_.step(mine, [&](record& outcome) {
            mine.id = outcome.id;
            run_start got = task.try_start();
            if (!got) return phase::fail;
            started.emplace(*std::move(got));
            granted(outcome, started->lease());
            mine.token = outcome.token;
            return phase::ok;
        });
        if (!started) return;
        work(started->lease(), mine);
        if (at_.one_in(10)) return leave(*started, mine);
        prove(
            started->lease(),
            mine,
            [&](transaction&) { return started->tick().time_since_epoch().count(); },
            [&](transaction& tx) { started->finish_in(tx); }
        );
        give_back(started->lease(), mine);
    }

private:
    // Nothing is finished: the same tick is run again.
    void leave(task_run& started, const record& mine) { give_back(started.lease(), mine); }
};

}  // namespace

std::unique_ptr<duty> shared_duty(workplace& at) {
    return std::make_unique<readers_and_writers>(at);
}
std::unique_ptr<duty> permits_duty(workplace& at) {
    return std::make_unique<permit_holders>(at);
}
std::unique_ptr<duty> task_duty(workplace& at) {
    return std::make_unique<task_runners>(at);
}

}  // namespace leasehold::soak
