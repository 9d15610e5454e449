#include "cli/agent/agent_client.hpp"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <condition_variable>
#include <nlohmann/json.hpp>

#include "cli/exit_status.hpp"
#include "cli/output.hpp"
#include "cli/show/described.hpp"
#include "leasehold/error.hpp"
#include "leasehold/mutex.hpp"

namespace leasehold::cli {
namespace {

using std::chrono::milliseconds;

constexpr std::size_t max_line_bytes = std::size_t{64} * 1024;

nlohmann::json failed(const char* name, const std::string& message) {
    return {{"error", name}, {"message", message}};
}

nlohmann::json busy(const std::optional<lock_info>& holder) {
    return {{"answer", "busy"}, {"holder", holder ? json_of(*holder) : nlohmann::json()}};
}

void rest(milliseconds length, const std::stop_token& stop) {
    std::mutex mutex;
    std::condition_variable_any never;
    std::unique_lock guard{mutex};
    never.wait_for(guard, stop, length, [] { return false; });
}

}  // namespace

lease& agent_client::lease_of(hold& each) {
    if (auto* const plain = std::get_if<lease>(&each.what)) return *plain;
    if (auto* const office = std::get_if<leadership>(&each.what)) return office->lease();
    return std::get<task_run>(each.what).lease();
}

void agent_client::serve() {
    while (const auto line = next_line()) obey(*line);
    const char* const why = why_hung_up_;
    for (auto& [number, each] : holds_) {
        const bool is_told = lease_of(each).why_lost() != loss_reason::none;
        if (*why != '\0' && !is_told) tell_lost(number, why);
    }
    ::shutdown(socket(), SHUT_WR);
    holds_.clear();
}

void agent_client::hang_up(const char* why) {
    why_hung_up_ = why;
    hung_up_.request_stop();
    ::shutdown(socket(), SHUT_RD);  // wakes serve()
}

// ------------------------------------------------------------------------------------- lines

std::optional<std::string> agent_client::next_line() {
    while (*why_hung_up_.load() == '\0') {
        const auto end = received_.find('\n');
        if (end != std::string::npos) {
            std::string line = received_.substr(0, end);
            received_.erase(0, end + 1);
            last_heard_ = local_clock::now();
            return line;
        }
        if (received_.size() > max_line_bytes) {
            say(failed(name_of(errc::invalid_argument), "a line has 64 KiB at most"));
            return std::nullopt;
        }
        if (!receive()) return std::nullopt;
    }
    return std::nullopt;
}

// Waits for more, or for the time of a hold that nobody keeps. False: there will be no more.
bool agent_client::receive() {
    const auto limit = next_limit();
    int timeout = -1;
    if (limit) {
        const auto left = std::chrono::ceil<milliseconds>(*limit - local_clock::now()).count();
        constexpr std::int64_t most = 3'600'000;
        timeout = static_cast<int>(std::clamp<std::int64_t>(left, 0, most));
    }
    pollfd asked{socket(), POLLIN, 0};
    const int ready = ::poll(&asked, 1, timeout);
    if (ready < 0) return errno == EINTR;
    if (ready == 0) {
        drop_unkept();
        return true;
    }
    std::array<char, 4096> bytes{};
    const ssize_t count = ::recv(socket(), bytes.data(), bytes.size(), 0);
    if (count < 0) return errno == EINTR;
    received_.append(bytes.data(), static_cast<std::size_t>(count));
    return count > 0;
}

std::optional<local_clock::time_point> agent_client::next_limit() const {
    std::optional<local_clock::time_point> first;
    for (const auto& [number, each] : holds_) {
        if (!each.keep_alive) continue;
        const auto limit = last_heard_ + *each.keep_alive;
        if (!first || limit < *first) first = limit;
    }
    return first;
}

void agent_client::drop_unkept() {
    const auto now = local_clock::now();
    for (auto each = holds_.begin(); each != holds_.end();) {
        const auto& limit = each->second.keep_alive;
        if (!limit || now < last_heard_ + *limit) {
            ++each;
            continue;
        }
        if (lease_of(each->second).why_lost() == loss_reason::none) {
            tell_lost(each->first, "not_kept");
        }
        each = holds_.erase(each);
    }
}

// Never waits, since the session's heartbeat may be the caller: a program that does not take its
// answers is hung up on.
void agent_client::say(const nlohmann::json& line) noexcept {
    try {
        const std::string bytes = json_text(line) + '\n';
        const std::lock_guard guard{sending_};
        const ssize_t sent =
            ::send(socket(), bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
        if (sent == static_cast<ssize_t>(bytes.size())) return;
    } catch (const std::exception&) {
        // No memory: as if the program did not take it.
    }
    ::shutdown(socket(), SHUT_RDWR);
}

void agent_client::tell_lost(std::int64_t number, const char* why) noexcept {
    say({{"event", "lost"}, {"hold", number}, {"why", why}});
}

// ---------------------------------------------------------------------------------- requests

void agent_client::obey(const std::string& line) {
    const auto request = nlohmann::json::parse(line, nullptr, false);
    nlohmann::json answer;
    try {
        answer = answer_to(agent_request{request});
    } catch (const failure& why) {
        answer = failed(why.name(), why.what());
    } catch (const error& why) {
        answer = failed(name_of(why.code()), why.what());
        answer["outcome_unknown"] = why.outcome_is_unknown();
    } catch (const std::exception& why) {
        answer = failed("internal", why.what());
    }
    if (auto id = id_of(request)) answer["id"] = *std::move(id);
    last_heard_ = local_clock::now();
    say(answer);
    watch_newest();
}

// A hold is told to be lost after the program has learned of it.
void agent_client::watch_newest() {
    const auto newest = holds_.find(last_number_);
    if (newest == holds_.end() || newest->second.telling) return;
    const lease& held = lease_of(newest->second);
    newest->second.telling.emplace(held.lost(), [this, number = last_number_, &held] {
        const loss_reason why = held.why_lost();
        if (why != loss_reason::released) tell_lost(number, name_of(why));
    });
}

nlohmann::json agent_client::answer_to(const agent_request& asked) {
    const std::string& what = asked.what();
    if (what == "lock") return lock(asked);
    if (what == "elect") return elect(asked);
    if (what == "once") return once(asked);
    if (what == "unlock") return unlock(asked);
    if (what == "finish") return finish(asked);
    if (what == "proclaim") return proclaim(asked);
    if (what == "leader") return leader(asked);
    if (what == "verify") return verify(asked);
    if (what == "keep") return asked.answer("kept");
    throw usage_failure("there is nothing to \"do\" of the name '" + what + "'");
}

// A grant that comes when its asker has gone is given back.
void agent_client::require_connection() const {
    if (!hung_up_.stop_requested()) return;
    throw failure{
        exit_status::unreachable, "agent_ends", "the agent, or the connection, has ended"};
}

// A wait goes on when the session was lost, or the database is away, in a new session. A loss that
// the session had not yet noticed fails no request.
template <class Attempt>
nlohmann::json agent_client::despite_losses(const agent_request& asked, const Attempt& attempt) {
    static_cast<void>(asked.keep_alive());  // refused before anything is held
    const auto wait = asked.wait();
    const auto end = local_clock::now() + wait.value_or(milliseconds{0});
    for (bool is_first = true;; is_first = false) {
        try {
            const auto within = sessions_.live();
            const auto left = std::chrono::ceil<milliseconds>(end - local_clock::now());
            return attempt(within, wait ? std::optional{left} : std::nullopt);
        } catch (const error& why) {
            const bool is_lost = why.code() == errc::session_lost;
            const bool is_over = wait && local_clock::now() >= end && !(is_lost && is_first);
            const bool may_pass = is_lost || why.is_transient();
            if (!may_pass || is_over || hung_up_.stop_requested()) throw;
            if (is_lost) continue;
        }
        rest(milliseconds{250}, hung_up_.get_token());
    }
}

template <class Granted>
nlohmann::json agent_client::keep(
    const agent_request& asked, std::shared_ptr<session> within, Granted granted
) {
    const std::int64_t number = ++last_number_;
    const auto placed =
        holds_.try_emplace(number, std::move(within), std::move(granted), asked.keep_alive());
    const lease& held = lease_of(placed.first->second);
    return {
        {"answer", "held"},
        {"hold", number},
        {"key", held.key().name()},
        {"token", held.token().number},
        {"owner", held.owner().text()}};
}

nlohmann::json agent_client::lock(const agent_request& asked) {
    mutex_settings settings;
    settings.metadata = asked.text("note");
    return despite_losses(asked, [&](const auto& within, const auto& wait) {
        mutex wanted{*within, key{asked.key()}, settings};
        const auto stop = hung_up_.get_token();
        acquisition got = wait ? wanted.acquire_for(*wait, stop) : wanted.acquire(stop);
        require_connection();
        if (got) return keep(asked, within, *std::move(got));
        return busy(got.holder());
    });
}

nlohmann::json agent_client::elect(const agent_request& asked) {
    return despite_losses(asked, [&](const auto& within, const auto& wait) {
        leader_election office{*within, key{asked.key()}};
        const auto stop = hung_up_.get_token();
        campaign_result got = wait ? office.campaign_for(*wait, stop) : office.campaign(stop);
        require_connection();
        if (got) return keep(asked, within, *std::move(got));
        return busy(got.leader());
    });
}

nlohmann::json agent_client::once(const agent_request& asked) {
    return despite_losses(asked, [&](const auto& within, const auto&) {
        leasehold::once task{*within, key{asked.key()}, asked.when()};
        run_start got = task.start(hung_up_.get_token());
        require_connection();
        if (!got) {
            const run_outlook& seen = got.outlook();
            return nlohmann::json{
                {"answer", name_of(seen.refusal)},
                {"tick", shown(seen.tick)},
                {"next_in", seconds_of(seen.next_in)}};
        }
        const std::string tick = shown(got->tick());
        nlohmann::json answer = keep(asked, within, *std::move(got));
        answer["tick"] = tick;
        return answer;
    });
}

nlohmann::json agent_client::unlock(const agent_request& asked) {
    const std::int64_t number = asked.hold();
    release_outcome outcome = release_outcome::not_held;
    if (const auto found = holds_.find(number); found != holds_.end()) {
        outcome = lease_of(found->second).release();
        holds_.erase(found);
    }
    return {{"answer", name_of(outcome)}, {"hold", number}};
}

template <class Wanted>
Wanted& agent_client::held_as(const agent_request& asked, const char* command) {
    const auto found = holds_.find(asked.hold());
    if (found == holds_.end()) {
        throw failure{
            exit_status::lease_lost,
            name_of(errc::lease_lost),
            "hold " + std::to_string(asked.hold()) + " is not held by this connection"};
    }
    if (auto* const wanted = std::get_if<Wanted>(&found->second.what)) return *wanted;
    throw usage_failure(
        "\"" + asked.what() + "\" is for what \"" + command + "\" has given; hold " +
        std::to_string(asked.hold()) + " is of another kind"
    );
}

nlohmann::json agent_client::finish(const agent_request& asked) {
    auto& run = held_as<task_run>(asked, "once");
    run_result result;
    result.has_succeeded = asked.has_succeeded();
    result.message = asked.text("text");
    const char* const outcome = name_of(run.finish(result));
    holds_.erase(asked.hold());
    return {{"answer", outcome}, {"hold", asked.hold()}};
}

nlohmann::json agent_client::proclaim(const agent_request& asked) {
    held_as<leadership>(asked, "elect").proclaim(asked.text("text"));
    return asked.answer("proclaimed");
}

nlohmann::json agent_client::leader(const agent_request& asked) const {
    const auto found = current_leader(sessions_.where(), key{asked.key()});
    if (!found) return asked.answer("none");
    return {
        {"answer", "leader"},
        {"token", found->token.number},
        {"owner", found->owner.text()},
        {"node_info", found->node_info},
        {"text", found->metadata ? nlohmann::json(*found->metadata) : nlohmann::json()}};
}

nlohmann::json agent_client::verify(const agent_request& asked) {
    const auto found = holds_.find(asked.hold());
    const bool is_held = found != holds_.end() && lease_of(found->second).verify();
    return {{"answer", is_held ? "held" : "lost"}, {"hold", asked.hold()}};
}

}  // namespace leasehold::cli
