#include "soak/duties/workplace.hpp"

#include "support/eventually.hpp"

namespace leasehold::soak {

using namespace std::chrono_literals;
using std::chrono::milliseconds;

workplace::workplace(worker_settings given)
    : given_(std::move(given)),
      history_(given_.folder, given_.process),
      page_(signal_page::open(given_.folder + "/signals")),
      tables_(given_.prefix),
      database_(open_database(given_.url, given_.prefix, time_outs::of_workers)),
      random_(given_.seed) {}

bool workplace::has_session() {
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

void workplace::write(record what) {
    const bool is_answer = what.when == phase::ok || what.when == phase::fail;
    history_.write(std::move(what));
    if (is_answer) note_answer();
}

void workplace::note_failure(record& what, const error& failure) {
    what.when = failure.outcome_is_unknown() ? phase::unknown : phase::fail;
    what.detail = std::string(name_of(failure.code())) + ": " + failure.what();
}

void workplace::stay(place where, int least_ms, int most_ms, const std::stop_token& until) {
    page_.place_of(given_.worker) = where;
    testing::stopped(until, milliseconds{between(least_ms, most_ms)});
    page_.place_of(given_.worker) = place::elsewhere;
}

}  // namespace leasehold::soak
