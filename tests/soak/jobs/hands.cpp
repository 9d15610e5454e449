#include "soak/jobs/hands.hpp"

#include <stdexcept>

#include "soak/faults.hpp"
#include "support/eventually.hpp"

namespace leasehold::soak {

using namespace std::chrono_literals;
using std::chrono::milliseconds;

// One handler, from its start to its return.
class job_hands::handling {
public:
    handling(job_hands& of, const session& under, job& what)
        : of_(of), session_(under), job_(what) {}

    void run() {
        mine_.what = operation::run;
        mine_.id = of_.next_id();
        mine_.when = phase::invoke;
        mine_.key = std::stoi(job_.queue().substr(job_.queue().find('/') + 1));
        mine_.number = job_.id();
        mine_.token = job_.token().number;
        mine_.grant = job_.payload().empty() ? 0 : std::stoll(job_.payload());
        note(mine_);
        of_.given_.changed(1);
        mine_.when = phase::fail;
        try {
            handle();
        } catch (...) {
            end();
            throw;
        }
        end();
    }

private:
    void end() const {
        of_.given_.changed(-1);
        note(mine_);
    }
    // Writes the record with the deadline of the session, as it is known just now.
    void note(record what) const {
        what.until_ns = session_.is_live() ? session_.deadline().time_since_epoch().count() : 0;
        of_.write(std::move(what));
    }
    void stay(int least_ms, int most_ms) const {
        testing::stopped(job_.stop(), milliseconds{of_.between(least_ms, most_ms)});
    }

    void handle() {
        stay(5, 60);
        // The claimer of the job may be dead meanwhile: that is when a planted bug shows.
        if (of_.between(1, of_.given_.plant.empty() ? 10 : 3) == 1) stay(200, 800);
        const int dice = of_.between(1, 15);
        if (dice == 1) throw std::runtime_error("an attempt fails now and then");
        if (dice == 2) {
            // A job that is not due yet lets others of its ordering key go before it.
            mine_.grant ? job_.release() : job_.snooze_for(50ms);
            return;
        }
        record effect;
        effect.what = operation::effect;
        effect.id = of_.next_id();
        effect.when = phase::invoke;
        effect.key = mine_.key;
        effect.grant = mine_.id;
        effect.number = mine_.number;
        effect.token = mine_.token;
        note(effect);
        try {
            commit(effect);
            effect.when = mine_.when = phase::ok;
        } catch (const error& failure) {
            effect.when = failure.outcome_is_unknown() ? phase::unknown : phase::fail;
            const bool is_refusal = failure.code() == errc::lease_lost;
            effect.detail = (is_refusal ? "refused, " : "") + std::string{name_of(failure.code())} +
                            ": " + failure.what();
            note(effect);
            throw;
        }
        note(effect);
    }

    void commit(const record& effect) {
        transaction tx = of_.database_.begin();
        of_.tables_.note_effect(
            tx, effect.number, effect.token, handlers_of(of_.given_.process), effect.id
        );
        const int dice = of_.between(1, 6);
        if (dice == 1) stay(2, 6);
        try {
            job_.complete_in(tx);
        } catch (const error& failure) {
            const bool is_ignored = of_.given_.plant == "completion_without_token";
            if (failure.code() != errc::lease_lost || !is_ignored) throw;
        }
        if (dice == 2) stay(2, 6);
        record sent = effect;
        sent.what = operation::completing;
        sent.when = phase::note;
        note(sent);
        tx.commit();
        of_.given_.answered();
    }

    job_hands& of_;
    const session& session_;
    job& job_;
    record mine_;
};

job_hands::job_hands(settings given, database on)
    : given_(std::move(given)),
      database_(std::move(on)),
      tables_(given_.prefix),
      history_(given_.folder, handlers_of(given_.process)),
      random_(given_.seed) {}

session job_hands::open_session() const {
    session_settings chosen;
    chosen.name = "soak-jobs-" + std::to_string(given_.process);
    chosen.ttl = 1s;
    return session{database_, chosen};
}

worker_settings job_hands::worker_settings_for_all() const {
    worker_settings made;
    made.queues = {name_of_queue(limited_queue), name_of_queue(free_queue)};
    made.concurrency = 3;
    made.prefetch = 2;
    made.poll_every = 100ms;
    made.drain_timeout = 3s;
    made.stop_timeout = 3s;
    return made;
}

bool job_hands::run(const worker_settings& how, const std::stop_token& stop) {
    try {
        session mine = open_session();
        worker all{mine, how};
        all.handle_all([&](job& each) { handling{*this, mine, each}.run(); });
        all.run(stop);
        return true;
    } catch (const error& failure) {
        // A node that its group has expelled takes no changes until it is back.
        const bool may_pass = failure.is_transient() || failure.code() == errc::session_lost ||
                              failure.code() == errc::read_only;
        if (!may_pass) throw;
        return false;
    }
}

void job_hands::work(const std::stop_token& stop) {
    while (!stop.stop_requested()) {
        if (!run(worker_settings_for_all(), stop)) testing::stopped(stop, 50ms);
    }
}

bool job_hands::is_anything_left() const {
    for (const int each : {limited_queue, free_queue}) {
        for (const auto state :
             {job_state::scheduled,
              job_state::available,
              job_state::running,
              job_state::retryable,
              job_state::blocked}) {
            job_filter wanted;
            wanted.queue = name_of_queue(each);
            wanted.state = state;
            wanted.limit = 1;
            if (!list_jobs(database_, wanted).empty()) return true;
        }
    }
    return false;
}

void job_hands::finish(milliseconds timeout) {
    worker_settings how = worker_settings_for_all();
    how.concurrency = 6;
    how.stop_when_idle = true;
    const auto deadline = clock::now() + timeout;
    while (is_anything_left()) {
        if (clock::now() > deadline) throw std::runtime_error("J1: jobs are left that nobody does");
        run(how, {});
    }
}

void job_hands::write(record what) {
    const std::scoped_lock guard{mutex_};
    history_.write(std::move(what));
}

std::int64_t job_hands::next_id() {
    const std::scoped_lock guard{mutex_};
    return history_.next_id();
}

int job_hands::between(int least, int most) {
    const std::scoped_lock guard{mutex_};
    return std::uniform_int_distribution<int>{least, most}(random_);
}

}  // namespace leasehold::soak
