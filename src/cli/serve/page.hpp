#pragma once
// The page of `serve`, in HTML. It has buttons only if the view has the form key of a session.
//
// Threads: safe.
#include <string>

#include "cli/watch/snapshot.hpp"

namespace leasehold::cli {

// The buttons of a page need these rights. Without them the page has no buttons.
struct page_rights {
    bool has_actions = false;  // somebody who knows the token may act
    std::string form_key{};    // a session that may act has one; empty: one that only looks
};

struct page_view {
    const snapshot& now;
    const lock_view& locks;
    bool is_late = false;        // the database has been asked, and has not answered
    std::string place{};         // which database, for people
    std::string lock_failure{};  // why there are no locks of that filter
    std::string said{};          // the result of the last button
    page_rights rights{};
};

std::string whole_page(const page_view& view);
// The changing part of the page, with which the script replaces the former one.
std::string page_content(const page_view& view);
// The page on which somebody gives the token.
std::string sign_in_page(const std::string& said);
// The answer to a request that leads nowhere.
std::string refusal_page(const std::string& title, const std::string& words);

// The value by which a button names a key: hexadecimal digits, since a browser changes line ends.
std::string key_field(std::string_view key);
// Throws invalid_argument if the field names no key.
std::string key_of_field(std::string_view field);

}  // namespace leasehold::cli
