#pragma once
// What `serve` answers to each request: who may ask, what is where, who may act.
//
// | request          | answer                                                                    |
// |------------------|---------------------------------------------------------------------------|
// | GET /            | the page; ?prefix= and ?after= choose locks, ?part=1 what changes of it   |
// | GET /metrics     | exposition.hpp                                                            |
// | GET /healthz     | 200 where the database answers, 503 with a reason where it does not       |
// | GET /style.css … | what the page needs                                                       |
// | GET, POST /sign-in | with actions: the token for a session, which is a cookie                |
// | POST /ask, /force, /retry, /cancel, /sign-out | with actions: a button of the page        |
//
// Any other is 404, and with another method 405. A request under a name that is not this server's
// is 403: a page of somebody else's could have that name lead here.
//
// A POST is refused that comes from another site (Origin, Sec-Fetch-Site), from nobody's session,
// or without the session's form key, which only a page of that session has.
//
// Threads: safe.
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "cli/http.hpp"
#include "cli/page.hpp"
#include "cli/refreshed.hpp"
#include "cli/snapshot.hpp"
#include "leasehold/clock.hpp"
#include "leasehold/database.hpp"

namespace leasehold::cli {

struct site_settings {
    std::string place{};               // which database, for people
    std::vector<std::string> hosts{};  // names of this server, in lower case and without a port
    // A client that knows it may act; nothing: nobody may.
    std::optional<std::string> token{};
};

// Those who have given the token.
class sign_ins {
public:
    explicit sign_ins(std::string token) : token_(std::move(token)) {}

    // A new session's id, where that is the token.
    std::optional<std::string> enter(const std::string& token);
    void leave(const std::string& id);
    // What forms of that session have; nothing where there is none.
    std::optional<std::string> form_key(const std::string& id);
    // What is to be said on its next page, once.
    void say(const std::string& id, std::string words);
    std::string take_words(const std::string& id);

private:
    struct entry {
        std::string form_key;
        std::string words;
        local_clock::time_point until;
    };
    entry* find(const std::string& id);

    const std::string token_;
    std::mutex mutex_;  // of all that follows
    std::map<std::string, entry> entries_;
};

// In a time that does not tell how much of them is the same.
bool is_same_secret(const std::string& given, const std::string& wanted) noexcept;

// Of a `Host` or `Origin`: the name alone, in lower case, without scheme and port.
std::string host_name_of(std::string_view header);

class site {
public:
    site(database db, site_settings settings);

    http_response answer(const http_request& request);
    // Whether the database is being asked for something nobody needs any more.
    bool is_reading() const { return overview_.is_reading() || pulse_.is_reading(); }

private:
    struct visitor {
        std::string id{};
        std::string form_key{};  // empty: one that only looks
    };

    http_response get(const http_request& request);
    http_response post(const http_request& request);
    http_response page(const http_request& request);
    http_response metrics();
    http_response health();
    http_response sign_in(const http_request& request);
    std::string act(const http_request& request);
    visitor visitor_of(const http_request& request);
    // Why this POST is none of our page's; empty where it is.
    std::string why_forged(const http_request& request) const;
    std::optional<std::string> read_pulse() const;

    const database database_;
    const site_settings settings_;
    std::optional<sign_ins> sign_ins_;
    overview overview_;
    refreshed<std::optional<std::string>> pulse_;  // why the database does not answer, or nothing
};

}  // namespace leasehold::cli
