// Two or three keys at once, each of them recorded as a mutex's.
#include <algorithm>
#include <numeric>

#include "soak/duties/workplace.hpp"

namespace leasehold::soak {
namespace {

using namespace std::chrono_literals;

class sets : public duty {
public:
    explicit sets(workplace& at) : at_(at) {}

    void run() override {
        choose();
        std::vector<key> names;
        for (const record& each : grants_) names.push_back(key_of(each.key));
        multi_lock all{at_.session(), std::move(names)};
        std::optional<multi_lease> held;
        steps(grants_, [&](std::vector<record>& outcomes) {
            multi_acquisition got = all.acquire_for(700ms);
            if (!got) return phase::fail;
            held.emplace(*std::move(got));
            for (record& each : outcomes) {
                each.token = held->token(key_of(each.key)).number;
                each.until_ns = believed_until(*held);
            }
            return phase::ok;
        });
        if (held) use(*held);
    }

private:
    void choose() {
        std::vector<int> keys(set_keys_count);
        std::iota(keys.begin(), keys.end(), mutex_count);
        for (std::size_t left = keys.size(); left > 1; --left) {
            std::swap(
                keys[left - 1],
                keys[static_cast<std::size_t>(at_.between(0, static_cast<int>(left) - 1))]
            );
        }
        keys.resize(static_cast<std::size_t>(at_.between(2, 3)));
        grants_.clear();
        for (const int each : keys) {
            record made;
            made.what = operation::acquire;
            made.key = each;
            grants_.push_back(made);
        }
    }

    // One step for each key, and one piece of work for all of them.
    template <class Work>
    phase steps(std::vector<record>& all, Work&& work) {
        for (record& each : all) {
            each.id = at_.next_id();
            each.when = phase::invoke;
            if (each.what == operation::append) each.number = all.front().id;
            at_.write(each);
            each.until_ns = 0;
        }
        record outcome;
        try {
            outcome.when = work(all);
        } catch (const error& failure) {
            workplace::note_failure(outcome, failure);
        }
        for (record& each : all) {
            each.when = outcome.when;
            if (!outcome.detail.empty()) each.detail = outcome.detail;
            at_.write(each);
        }
        return outcome.when;
    }

    static std::int64_t believed_until(const multi_lease& held) {
        return held.held_locally() ? held.deadline().time_since_epoch().count() : 0;
    }

    std::vector<record> under(const multi_lease& held, operation what) const {
        std::vector<record> all;
        for (const record& each : grants_) {
            record made;
            made.what = what;
            made.key = each.key;
            made.grant = each.id;
            made.token = each.token;
            made.until_ns = believed_until(held);
            all.push_back(made);
        }
        return all;
    }

    void use(multi_lease& held) {
        std::vector<std::int64_t> seen;
        try {
            for (const record& each : grants_) {
                seen.push_back(at_.tables().read(at_.database(), each.key).counter);
            }
        } catch (const error&) {
            give_back(held);
            return;
        }
        at_.stay(place::holding, 5, 50, held.lost());
        if (held.why_lost() != loss_reason::none) {
            for (record& each : under(held, operation::belief)) {
                each.when = phase::fail;
                at_.write(each);
            }
        }
        append(held, seen);
        give_back(held);
    }

    void append(multi_lease& held, const std::vector<std::int64_t>& seen) {
        auto appends = under(held, operation::append);
        steps(appends, [&](std::vector<record>& all) {
            transaction tx = at_.database().begin();
            for (std::size_t at = 0; at < all.size(); ++at) {
                const record& each = all[at];
                at_.tables().append(
                    tx, each.key, each.token, at_.given().process, each.id, seen[at] + 1
                );
                if (at_.one_in(4)) at_.linger_in_transaction();
            }
            try {
                held.verify_in(tx);
            } catch (const error& failure) {
                if (failure.code() != errc::lease_lost) throw;
                for (record& each : all) each.detail = "refused as a set";
                return phase::fail;
            }
            if (at_.one_in(4)) at_.linger_in_transaction();
            tx.commit();
            return phase::ok;
        });
    }

    void give_back(multi_lease& held) {
        auto releases = under(held, operation::release);
        steps(releases, [&](std::vector<record>&) {
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
    std::vector<record> grants_;  // one for each key
};

}  // namespace

std::unique_ptr<duty> set_duty(workplace& at) {
    return std::make_unique<sets>(at);
}

}  // namespace leasehold::soak
