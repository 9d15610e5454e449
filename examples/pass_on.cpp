// One process takes a machine and passes it on to the next, without anybody getting in between:
//
//   pass_on sqlite:demo.db give | pass_on sqlite:demo.db take
//
// The words in the pipe are a secret: whoever has them can take the hold.
#include <iostream>
#include <string_view>

#include "leasehold/driver/sqlite.hpp"
#include "leasehold/leasehold.hpp"

namespace {

using namespace std::chrono_literals;

int give(leasehold::session& session) {
    auto held = leasehold::mutex{session, "machine/42"}.acquire_for(5s);
    if (!held) return 75;
    std::cerr << "set up under " << held->token().number << '\n';
    std::cout << leasehold::detach_for(std::move(*held), 1min).text() << '\n';
    return 0;
}

int take(leasehold::session& session) {
    std::string text;
    std::getline(std::cin, text);
    const auto mine = leasehold::adopt(session, leasehold::detached_lease::from_text(text));
    if (!mine) return 76;  // it took longer than its minute
    std::cout << "runs under " << mine->token().number << '\n';
    return 0;
}

}  // namespace

int main(int count, char** arguments) {
    const std::string_view role = count == 3 ? arguments[2] : "";
    if (role != "give" && role != "take") {
        std::cerr << "usage: pass_on sqlite:PATH give|take\n";
        return 64;
    }
    try {
        leasehold::database db = leasehold::sqlite::open(arguments[1]);
        leasehold::migrate(db);
        leasehold::session session{db, {.name = std::string{role}}};
        return role == "give" ? give(session) : take(session);
    } catch (const leasehold::error& failure) {
        std::cerr << "pass_on: " << failure.what() << '\n';
        return 1;
    }
}
