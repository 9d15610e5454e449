#include "cli/serve/site.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <exception>
#include <string_view>
#include <utility>

#include "cli/arguments.hpp"
#include "cli/exit_status.hpp"
#include "cli/output.hpp"
#include "cli/serve/page_files.hpp"
#include "cli/watch/exposition.hpp"
#include "leasehold/error.hpp"
#include "leasehold/identity.hpp"
#include "leasehold/inspect.hpp"
#include "leasehold/job_queue.hpp"

namespace leasehold::cli {
namespace {

using namespace std::chrono_literals;

constexpr std::string_view cookie_name = "leasehold_session";
constexpr const char* html_type = "text/html; charset=utf-8";

http_response html_of(std::string body, int status = 200) {
    return {status, html_type, std::move(body), {}};
}

http_response refused(int status, const std::string& title, const std::string& words) {
    return html_of(refusal_page(title, words), status);
}

http_response redirect_to(std::string place) {
    return {303, "text/plain; charset=utf-8", "", {{"Location", std::move(place)}}};
}

// The headers of every answer for browsers: the page loads nothing from other sites, runs nothing
// inline, and is shown in no frame.
void add_protection(http_response& answer) {
    for (const auto& [name, value] : std::initializer_list<std::pair<const char*, const char*>>{
             {"Content-Security-Policy",
              "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; "
              "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"},
             {"X-Content-Type-Options", "nosniff"},
             {"X-Frame-Options", "DENY"},
             // With no-referrer, browsers would send a form without its origin.
             {"Referrer-Policy", "same-origin"},
             {"Cross-Origin-Resource-Policy", "same-origin"},
             {"Cross-Origin-Opener-Policy", "same-origin"},
             {"Cache-Control", "no-store"}}) {
        answer.headers.emplace_back(name, value);
    }
}

std::string cookie_of(const http_request& request) {
    std::string_view rest = request.headers.contains("cookie")
                                ? std::string_view{request.headers.at("cookie")}
                                : std::string_view{};
    while (!rest.empty()) {
        const auto end = std::min(rest.find(';'), rest.size());
        std::string_view each = rest.substr(0, end);
        rest.remove_prefix(std::min(end + 1, rest.size()));
        each.remove_prefix(std::min(each.find_first_not_of(' '), each.size()));
        const auto equals = each.find('=');
        if (equals != std::string_view::npos && each.substr(0, equals) == cookie_name) {
            return std::string(each.substr(equals + 1));
        }
    }
    return {};
}

std::int64_t number_field(const http_request& request, const char* name) {
    const std::string text = request.field(name);
    std::int64_t number = 0;
    const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (failed != std::errc{} || end != text.data() + text.size()) {
        throw error(errc::invalid_argument, std::string("the form has no number as its ") + name);
    }
    return number;
}

std::string words_of_failure(const std::exception& failed) {
    const auto* const known = dynamic_cast<const error*>(&failed);
    return without_passwords(known ? failure_of(*known).what() : failed.what());
}

std::string ask_holder(const database& db, const key& name, fencing_token token) {
    const auto seen = describe(db, name);
    if (!seen || !seen->is_held || seen->token != token) {
        return "'" + name.name() + "' has passed on meanwhile: nobody was asked";
    }
    const auto asked = request_revoke(db, name);
    if (!asked) return "'" + name.name() + "' is free: there is nobody to ask";
    return asked->node_info + " was asked to let go of '" + name.name() + "'";
}

std::string force_holder(const database& db, const key& name, fencing_token token) {
    const auto freed = force_release(db, name, token);
    if (!freed) {
        return "'" + name.name() + "' has passed on meanwhile: nothing was freed by force";
    }
    return "'" + name.name() + "' was freed from " + freed->node_info + " (token " +
           to_string(freed->token) + ")";
}

std::string retry(const database& db, job_id id) {
    const std::string job = "job " + std::to_string(id);
    switch (retry_job(db, id)) {
        case retry_outcome::available:
            return job + " runs as soon as a worker takes it";
        case retry_outcome::redriven:
            return job + " begins again";
        case retry_outcome::running:
            return job + " runs already";
        case retry_outcome::duplicate:
            return job + " was not started again: there is another one of its unique key";
        case retry_outcome::not_found:
            break;
    }
    return "there is no " + job + " any more";
}

std::string cancel(const database& db, job_id id) {
    const std::string job = "job " + std::to_string(id);
    switch (cancel_job(db, id)) {
        case cancel_outcome::cancelled:
            return job + " is cancelled";
        case cancel_outcome::requested:
            return job + " runs, and was asked to stop";
        case cancel_outcome::ended:
            return job + " had ended before";
        case cancel_outcome::not_found:
            break;
    }
    return "there is no " + job + " any more";
}

constexpr std::array actions{
    std::string_view{"/ask"},
    std::string_view{"/force"},
    std::string_view{"/retry"},
    std::string_view{"/cancel"},
    std::string_view{"/sign-out"}};

bool is_action(std::string_view path) {
    return std::find(actions.begin(), actions.end(), path) != actions.end();
}

}  // namespace

bool is_same_secret(const std::string& given, const std::string& wanted) noexcept {
    std::size_t difference = given.size() ^ wanted.size();
    for (std::size_t at = 0; at < given.size(); ++at) {
        const char other = wanted.empty() ? '\0' : wanted[at % wanted.size()];
        difference |= static_cast<unsigned char>(given[at]) ^ static_cast<unsigned char>(other);
    }
    return difference == 0;
}

std::string host_name_of(std::string_view header) {
    const auto scheme = header.find("://");
    if (scheme != std::string_view::npos) header.remove_prefix(scheme + 3);
    const auto bracket = header.starts_with('[') ? header.find(']') : std::string_view::npos;
    const auto colon =
        header.find(':', bracket == std::string_view::npos ? std::size_t{0} : bracket);
    // If no port stands behind the colon, the whole text stays, and is no name that a user could
    // allow.
    const auto port = colon == std::string_view::npos ? "" : header.substr(colon + 1);
    const bool is_port = port.find_first_not_of("0123456789") == std::string_view::npos;
    return lower_case(std::string{is_port ? header.substr(0, colon) : header});
}

// ---------------------------------------------------------------------------------- sign_ins

std::optional<std::string> sign_ins::enter(const std::string& token) {
    if (!is_same_secret(token, token_)) return std::nullopt;
    constexpr std::size_t max_entries = 100;
    const std::lock_guard guard{mutex_};
    const auto now = local_clock::now();
    std::erase_if(entries_, [&](const auto& each) { return each.second.until <= now; });
    if (entries_.size() >= max_entries) {
        entries_.erase(std::min_element(
            entries_.begin(),
            entries_.end(),
            [](const auto& left, const auto& right) {
                return left.second.until < right.second.until;
            }
        ));
    }
    const std::string id = identity::random().text() + identity::random().text();
    entries_[id] = {identity::random().text() + identity::random().text(), {}, now + 8h};
    return id;
}

sign_ins::entry* sign_ins::find(const std::string& id) {
    const auto found = entries_.find(id);
    if (found == entries_.end() || found->second.until <= local_clock::now()) return nullptr;
    return &found->second;
}

void sign_ins::leave(const std::string& id) {
    const std::lock_guard guard{mutex_};
    entries_.erase(id);
}

std::optional<std::string> sign_ins::form_key(const std::string& id) {
    const std::lock_guard guard{mutex_};
    const entry* const found = find(id);
    return found ? std::optional{found->form_key} : std::nullopt;
}

void sign_ins::say(const std::string& id, std::string words) {
    const std::lock_guard guard{mutex_};
    if (entry* const found = find(id)) found->words = std::move(words);
}

std::string sign_ins::take_words(const std::string& id) {
    const std::lock_guard guard{mutex_};
    entry* const found = find(id);
    return found ? std::exchange(found->words, {}) : std::string{};
}

// -------------------------------------------------------------------------------------- site

site::site(database db, site_settings settings)
    : database_(std::move(db)),
      settings_(std::move(settings)),
      // The overview reads once a minute even without visitors, for its history.
      overview_(database_, {.at_least_every = 60s}),
      pulse_(
          [this] { return read_pulse(); },
          [](const std::optional<std::string>& failure) { return failure.has_value(); }
      ) {
    if (settings_.token) sign_ins_.emplace(*settings_.token);
}

http_response site::answer(const http_request& request) {
    http_response made;
    const std::string host = host_name_of(request.header("host"));
    const auto& known = settings_.hosts;
    if (std::find(known.begin(), known.end(), host) == known.end()) {
        made = refused(
            403,
            "Not under this name",
            "This server does not know the name '" + host +
                "'. Whoever runs it can allow it: leasehold serve --allow-host NAME"
        );
    } else {
        try {
            if (request.method == "GET" || request.method == "HEAD") {
                made = get(request);
            } else if (request.method == "POST") {
                made = post(request);
            } else {
                made = refused(405, "Not allowed", "Nothing here is changed by that method.");
                made.headers.emplace_back("Allow", "GET, HEAD");
            }
        } catch (const std::exception& failed) {
            made = refused(500, "That went wrong", words_of_failure(failed));
        }
    }
    add_protection(made);
    return made;
}

http_response site::get(const http_request& request) {
    if (request.path == "/") return page(request);
    if (request.path == "/metrics") return metrics();
    if (request.path == "/healthz") return health();
    if (request.path == "/style.css") {
        return {200, "text/css; charset=utf-8", std::string(page_style), {}};
    }
    if (request.path == "/script.js") {
        return {200, "text/javascript; charset=utf-8", std::string(page_script), {}};
    }
    if (request.path == "/icon.svg") return {200, "image/svg+xml", std::string(page_icon), {}};
    if (sign_ins_ && request.path == "/sign-in") return html_of(sign_in_page(""));
    if (sign_ins_ && is_action(request.path)) {
        auto made = refused(405, "Not allowed", "That is a button's, and needs a POST.");
        made.headers.emplace_back("Allow", "POST");
        return made;
    }
    return refused(404, "Not here", "There is no such page.");
}

site::visitor site::visitor_of(const http_request& request) {
    visitor who;
    if (!sign_ins_) return who;
    const std::string id = cookie_of(request);
    if (const auto found = sign_ins_->form_key(id)) {
        who.id = id;
        who.form_key = *found;
    }
    return who;
}

http_response site::page(const http_request& request) {
    const auto [value, is_late] = overview_.latest();
    const auto now = value ? value : std::make_shared<const snapshot>();
    const visitor who = visitor_of(request);
    lock_filter filter{.prefix = request.parameter("prefix"), .limit = max_shown};
    if (std::string after = request.parameter("after"); !after.empty()) filter.after = after;
    std::shared_ptr<const lock_view> locks;
    std::string lock_failure;
    if (!filter.prefix.empty() || filter.after) {
        auto empty = std::make_shared<lock_view>();
        empty->filter = filter;
        locks = empty;
        try {
            // If the database does not answer, a visitor's filter must not ask it again.
            if (now->failure) throw error(errc::connection_failed, *now->failure);
            if (now->taken) locks = overview_.locks(filter);
        } catch (const std::exception& failed) {
            lock_failure = words_of_failure(failed);
        }
    }
    page_view view{*now, locks ? *locks : now->locks};
    view.lock_failure = lock_failure;
    view.is_late = is_late;
    view.place = settings_.place;
    view.rights = {sign_ins_.has_value(), who.form_key};
    const bool is_part = !request.parameter("part").empty();
    if (sign_ins_ && !is_part) view.said = sign_ins_->take_words(who.id);
    return html_of(is_part ? page_content(view) : whole_page(view));
}

http_response site::metrics() {
    const auto [value, is_late] = overview_.latest();
    return {200, exposition_type, exposition(value ? *value : snapshot{}, is_late), {}};
}

std::optional<std::string> site::read_pulse() const {
    try {
        describe(database_, key{"leasehold/pulse"});
        return std::nullopt;
    } catch (const std::exception& failed) {
        return words_of_failure(failed);
    }
}

http_response site::health() {
    const auto [value, is_late] = pulse_.latest();
    http_response made;
    if (is_late) {
        made.body = "the database does not answer in time\n";
    } else if (*value) {
        made.body = printable(**value) + "\n";
    } else {
        made.body = "ok\n";
        return made;
    }
    made.status = 503;
    return made;
}

// ----------------------------------------------------------------------------------- actions

std::string site::why_forged(const http_request& request) const {
    const std::string from = request.header("sec-fetch-site");
    if (!from.empty() && from != "same-origin") return "it comes from another site";
    const std::string origin = request.header("origin");
    // Behind a proxy that encrypts, scheme and port differ, and only the name is the same.
    if (!origin.empty() && host_name_of(origin) != host_name_of(request.header("host"))) {
        return "it comes from another site";
    }
    return {};
}

http_response site::post(const http_request& request) {
    const bool is_sign_in = request.path == "/sign-in";
    if (!sign_ins_ || !(is_sign_in || is_action(request.path))) {
        auto made = refused(
            request.path == "/" ? 405 : 404, "Not here", "Nothing can be changed by way of this."
        );
        if (made.status == 405) made.headers.emplace_back("Allow", "GET, HEAD");
        return made;
    }
    if (const std::string why = why_forged(request); !why.empty()) {
        return refused(403, "Refused", "That button is not of this page: " + why + ".");
    }
    if (is_sign_in) return sign_in(request);
    const visitor who = visitor_of(request);
    if (who.form_key.empty()) {
        return refused(403, "Refused", "Nobody is signed in any more: sign in and try again.");
    }
    if (!is_same_secret(request.field("form_key"), who.form_key)) {
        return refused(403, "Refused", "That button is of an old page: load it again.");
    }
    if (request.path == "/sign-out") {
        sign_ins_->leave(who.id);
        return redirect_to("/");
    }
    std::string said;
    try {
        said = act(request);
    } catch (const std::exception& failed) {
        said = words_of_failure(failed);
    }
    sign_ins_->say(who.id, std::move(said));
    return redirect_to("/");
}

http_response site::sign_in(const http_request& request) {
    const auto id = sign_ins_->enter(request.field("token"));
    if (!id) return html_of(sign_in_page("That is not the token."), 403);
    auto made = redirect_to("/");
    std::string cookie =
        std::string(cookie_name) + "=" + *id + "; Path=/; HttpOnly; SameSite=Strict";
    if (request.header("x-forwarded-proto") == "https") cookie += "; Secure";
    made.headers.emplace_back("Set-Cookie", std::move(cookie));
    return made;
}

std::string site::act(const http_request& request) {
    if (request.path == "/retry") return retry(database_, number_field(request, "job"));
    if (request.path == "/cancel") return cancel(database_, number_field(request, "job"));
    const key name{key_of_field(request.field("key"))};
    const fencing_token token{number_field(request, "token")};
    if (request.path == "/ask") return ask_holder(database_, name, token);
    return force_holder(database_, name, token);
}

}  // namespace leasehold::cli
