// Cron expressions: fire times go forward, and a schedule's text makes the same schedule.
#include <chrono>
#include <string>

#include "fuzz.hpp"
#include "leasehold/schedule.hpp"

namespace leasehold::fuzz {

void try_text(std::string_view text) {
    using namespace std::chrono_literals;
    is_taken([&] { schedule::parse(text); });
    is_taken([&] {
        const schedule made = schedule::cron(text);
        const schedule again = schedule::parse(made.text());
        // 29 February may be eight years away.
        schedule::instant at{std::chrono::hours{24 * 20'000} + 7s};
        for (int each = 0; each < 5; ++each) {
            const auto next = made.next(at);
            require(next > at, "the next fire time is later");
            require(made.previous(next) == next, "a fire time is its own latest one");
            require(made.previous(next - 1us) <= at, "no fire time is passed over");
            require(again.next(at) == next, "the text makes the same schedule");
            at = next;
        }
    });
}

}  // namespace leasehold::fuzz
