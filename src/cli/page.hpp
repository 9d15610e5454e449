#pragma once
// The page of `serve`, in HTML: one for looking, and with a session's key one with buttons.
//
// Threads: safe.
#include <string>

#include "cli/snapshot.hpp"

namespace leasehold::cli {

// What buttons need. Without them a page has none.
struct page_rights {
    bool has_actions = false;  // somebody who knows the token may act
    std::string form_key{};    // of a session that does; empty: one that only looks
};

struct page_view {
    const snapshot& now;
    const lock_view& locks;
    bool is_late = false;        // the database has been asked, and has not answered
    std::string place{};         // which database, for people
    std::string lock_failure{};  // why there are no locks of that filter
    std::string said{};          // what became of the last button
    page_rights rights{};
};

std::string whole_page(const page_view& view);
// What of it changes, to be put in its place.
std::string page_content(const page_view& view);
// Where somebody gives the token.
std::string sign_in_page(const std::string& said);
// Where a request leads nowhere.
std::string refusal_page(const std::string& title, const std::string& words);

// What a button sends of a key: hexadecimal digits, since a browser changes the ends of lines.
std::string key_field(std::string_view key);
// Throws invalid_argument for what is none.
std::string key_of_field(std::string_view field);

}  // namespace leasehold::cli
