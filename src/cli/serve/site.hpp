#pragma once
// The answers of `serve` to requests: who may ask, which path has which answer, who may act.
//
// | request          | answer                                                                    |
// |------------------|---------------------------------------------------------------------------|
// | GET /            | the page; ?prefix= and ?after= choose locks, ?part=1 its changing part    |
// | GET /metrics     | exposition.hpp                                                            |
// | GET /healthz     | 200 where the database answers, 503 with a reason where it does not       |
// | GET /style.css … | the files that the page needs                                             |
// | GET, POST /sign-in | with actions: the token for a session, which is a cookie                |
// | POST /ask, /force, /retry, /cancel, /sign-out | with actions: a button of the page        |
//
// Any other path is 404, and another method is 405. A request under a name that is not this
// server's is 403, since another site could let a name of its own lead here.
//
// The site refuses a POST that comes from another site (Origin, Sec-Fetch-Site), without a session,
// or without the session's form key, which only a page of that session has.
//
// Threads: safe.
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "cli/serve/http.hpp"
#include "cli/serve/page.hpp"
#include "cli/watch/refreshed.hpp"
#include "cli/watch/snapshot.hpp"
#include "leasehold/clock.hpp"
#include "leasehold/database.hpp"

namespace leasehold::cli {

struct site_settings {
    std::string place{};               // which database, for people
    std::vector<std::string> hosts{};  // names of this server, in lower case and without a port
    // The token: a client that knows it may act; nullopt: nobody may.
    std::optional<std::string> token{};
};

// The sessions of those who have given the token.
class sign_ins {
public:
    explicit sign_ins(std::string token) : token_(std::move(token)) {}

    // Answers with a new session's id if `token` is right.
    std::optional<std::string> enter(const std::string& token);
    void leave(const std::string& id);
    // The key in the forms of that session; nullopt if there is no such session.
    std::optional<std::string> form_key(const std::string& id);
    // A message for its next page, shown once.
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
    std::mutex mutex_;  // guards all that follows
    std::map<std::string, entry> entries_;
};

// The time of the comparison does not depend on how many bytes are equal.
bool is_same_secret(const std::string& given, const std::string& wanted) noexcept;

// The name alone in a `Host` or `Origin`: in lower case, without scheme and port.
std::string host_name_of(std::string_view header);

class site {
public:
    site(database db, site_settings settings);

    http_response answer(const http_request& request);
    // True while the database works on a read whose answer nobody needs any more.
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
    // The reason to believe that this POST does not come from our page; empty if there is none.
    std::string why_forged(const http_request& request) const;
    std::optional<std::string> read_pulse() const;

    const database database_;
    const site_settings settings_;
    std::optional<sign_ins> sign_ins_;
    overview overview_;
    refreshed<std::optional<std::string>> pulse_;  // why the database does not answer, or nothing
};

}  // namespace leasehold::cli
