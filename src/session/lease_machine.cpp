#include "session/lease_machine.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "leasehold/error.hpp"

namespace leasehold {
namespace {

using std::chrono::milliseconds;

// The duration in the largest unit that says it exactly.
std::string shown(milliseconds given) {
    constexpr std::array units{
        std::pair{milliseconds{3'600'000}, " h"},
        std::pair{milliseconds{60'000}, " min"},
        std::pair{milliseconds{1000}, " s"}};
    for (const auto& [unit, name] : units) {
        if (given != milliseconds{0} && given % unit == milliseconds{0}) {
            return std::to_string(given / unit) + name;
        }
    }
    return std::to_string(given.count()) + " ms";
}

[[noreturn]] void refuse(const char* name, milliseconds given, const std::string& rule) {
    throw error(
        errc::invalid_argument, std::string(name) + " is " + shown(given) + "; it must be " + rule
    );
}

}  // namespace

session_settings completed(session_settings given) {
    constexpr milliseconds least{1000};
    constexpr milliseconds most{24 * 3'600'000};
    constexpr milliseconds reap_most = std::chrono::hours{366 * 24};
    if (given.ttl < least || given.ttl > most) refuse("ttl", given.ttl, "1 s to 24 h");
    const auto heartbeat_every = given.heartbeat_every.value_or(given.ttl / 3);
    const auto margin = given.margin.value_or(std::min(milliseconds{2000}, given.ttl / 6));
    const auto reap_every = given.reap_every.value_or(reap_most);
    if (heartbeat_every <= milliseconds{0}) {
        refuse("heartbeat_every", heartbeat_every, "positive, or unset for a third of ttl");
    }
    if (margin <= milliseconds{0}) {
        refuse("margin", margin, "positive, or unset for the smaller of 2 s and ttl / 6");
    }
    if (reap_every <= milliseconds{0} || reap_every > reap_most) {
        refuse("reap_every", reap_every, "positive and at most 366 days, or unset for never");
    }
    if (margin >= given.ttl / 2) refuse("margin", margin, "less than half of ttl");
    if (heartbeat_every > (given.ttl - margin) / 2) {
        refuse(
            "heartbeat_every",
            heartbeat_every,
            "at most half of ttl - margin, so that one heartbeat may fail"
        );
    }
    given.heartbeat_every = heartbeat_every;
    given.margin = margin;
    return given;
}

const char* name_of(loss_reason reason) noexcept {
    switch (reason) {
        case loss_reason::none:
            return "none";
        case loss_reason::expired:
            return "expired";
        case loss_reason::ended_by_server:
            return "ended_by_server";
        case loss_reason::taken_over:
            return "taken_over";
        case loss_reason::other_process:
            return "other_process";
        case loss_reason::released:
            return "released";
        case loss_reason::session_ended:
            return "session_ended";
    }
    return "unknown";
}

lease_machine::lease_machine(const session_settings& settings, instant sent, instant answered)
    : ttl_(settings.ttl),
      heartbeat_every_(settings.heartbeat_every.value()),
      margin_(settings.margin.value()),
      deadline_(sent + ttl_ - margin_),
      next_heartbeat_(sent + heartbeat_every_),
      last_sent_(sent) {
    tick(answered);
}

lease_machine::lease_machine(const session_settings& settings)
    : ttl_(settings.ttl),
      heartbeat_every_(settings.heartbeat_every.value()),
      margin_(settings.margin.value()),
      deadline_(instant::max()),
      next_heartbeat_(instant::max()),
      last_sent_(instant::max()) {}

void lease_machine::renewed(instant sent, instant answered) {
    tick(answered);  // too late is too late, whatever the answer says
    if (!is_live()) return;
    deadline_ = std::max(deadline_, sent + ttl_ - margin_);
    next_heartbeat_ = sent + heartbeat_every_;
    longest_gap_ = std::max(longest_gap_, answered - last_sent_);
    last_sent_ = sent;
}

void lease_machine::ended_by_server(instant answered) {
    tick(answered);  // it was too late before the answer said so
    lose(loss_reason::ended_by_server);
}

void lease_machine::failed(instant now) {
    tick(now);
    // Short enough for several tries in the time that is left, and long enough to spare a server
    // that is down.
    const auto pause =
        std::clamp<milliseconds>(heartbeat_every_ / 8, milliseconds{20}, milliseconds{1000});
    next_heartbeat_ = now + pause;
}

void lease_machine::tick(instant now) {
    if (now >= deadline_) lose(loss_reason::expired);
}

void lease_machine::hurry(instant now) {
    next_heartbeat_ = std::min(next_heartbeat_, now);
}

void lease_machine::end() {
    lose(loss_reason::session_ended);
}

// A heartbeat that is on time gets half of the time until the deadline, so that another one is
// possible if this one gets no answer. All that are about on time get the same limit, because MySQL
// learns of a new limit by a separate round trip. A heartbeat after failures gets half of the time
// that is left then.
milliseconds lease_machine::time_to_answer(instant now) const {
    const auto left = std::chrono::duration_cast<milliseconds>(deadline_ - now);
    const auto usual = ttl_ - margin_ - heartbeat_every_;
    const bool is_about_on_time = left > usual - heartbeat_every_ / 2;
    return std::max((is_about_on_time ? usual : left) / 2, milliseconds{50});
}

void lease_machine::lose(loss_reason why) {
    if (is_live()) reason_ = why;
}

}  // namespace leasehold
