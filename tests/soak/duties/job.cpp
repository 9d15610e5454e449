// Jobs are enqueued, and some cancelled; the process does them beside its duties (jobs/hands.hpp).
#include <deque>

#include "soak/duties/workplace.hpp"
#include "soak/jobs/job_tables.hpp"

namespace leasehold::soak {
namespace {

using namespace std::chrono_literals;

class jobs : public duty {
public:
    explicit jobs(workplace& at) : at_(at) {}

    void run() override {
        be_wrong();
        for (int left = at_.between(4, 12); left > 0; --left) enqueue();
        if (at_.one_in(3)) cancel();
    }

private:
    // Ordered ones, or unique ones, or neither.
    void enqueue() {
        record made;
        made.what = operation::enqueue;
        made.key = at_.one_in(2) ? limited_queue : free_queue;
        new_job what;
        what.max_rescues = 10'000;  // it is not the jobs that kill their workers
        what.retry = {10'000, 20ms, 200ms};
        if (at_.one_in(2)) {
            made.grant = at_.between(1, ordering_keys);
            what.ordering_key = what.payload = std::to_string(made.grant);
        } else if (at_.one_in(2)) {
            made.token = at_.between(1, unique_keys);
            what.unique_key = std::to_string(made.token);
        } else if (at_.one_in(4)) {
            what.delay = 30ms;
        }
        const job_queue queue{at_.database(), name_of_queue(made.key)};
        at_.step(made, [&](record& outcome) {
            const enqueued_job got = queue.enqueue(what);
            outcome.number = got.id;
            if (!got.is_new) outcome.detail = "kept";
            known_.push_back(got.id);
            return phase::ok;
        });
        constexpr std::size_t max_known = 20;
        if (known_.size() > max_known) known_.pop_front();
    }

    void cancel() {
        if (known_.empty()) return;
        record made;
        made.what = operation::cancel;
        const int last = static_cast<int>(known_.size()) - 1;
        made.number = known_.at(static_cast<std::size_t>(at_.between(0, last)));
        at_.step(made, [&](record& outcome) {
            outcome.detail = name_of(cancel_job(at_.database(), outcome.number));
            return phase::ok;
        });
    }

    void be_wrong() {
        try {
            if (at_.has_plant("rescue_without_proof")) {
                transaction tx = at_.database().begin();
                job_tables{at_.given().prefix}.take_from_the_living(tx);
                tx.commit();
            } else if (at_.has_plant("raised_limit")) {
                queue_limits limits;
                limits.max_running = max_running * 4;
                job_queue{at_.database(), name_of_queue(limited_queue)}.set_limits(limits);
            }
        } catch (const error&) {
            // The next time, then.
        }
    }

    workplace& at_;
    std::deque<job_id> known_;
};

}  // namespace

std::unique_ptr<duty> job_duty(workplace& at) {
    return std::make_unique<jobs>(at);
}

}  // namespace leasehold::soak
