// Handlers whose payload is of a type of the program's own.
#include "leasehold/typed_payload.hpp"

#include <stdexcept>
#include <string>
#include <string_view>

#include "conformance/worker_suite.hpp"
#include "leasehold/inspect.hpp"

namespace letters {

struct letter {
    std::string to{};
    int pages = 0;
};

std::string to_payload(const letter& from);
void from_payload(std::string_view text, letter& to);

std::string to_payload(const letter& from) {
    return std::to_string(from.pages) + " for " + from.to;
}

void from_payload(std::string_view text, letter& to) {
    constexpr std::string_view between = " for ";
    const auto at = text.find(between);
    if (at == std::string_view::npos) throw std::runtime_error("no letter");
    to.pages = std::stoi(std::string{text.substr(0, at)});
    to.to = text.substr(at + between.size());
}

}  // namespace letters

namespace leasehold::testing {
namespace {

using letters::letter;

TEST_F(worker_suite, a_handler_has_the_value_that_was_enqueued) {
    const auto made = queue_.enqueue(job_of("send", letter{"you", 3}, {.priority = 7}));
    EXPECT_EQ(find_job(first_, made.id)->payload, "3 for you");
    EXPECT_EQ(find_job(first_, made.id)->priority, 7);
    session mine{second_, calm("worker")};
    leasehold::worker does{mine, settings()};
    letter seen;
    does.handle("send", with_payload<letter>([&](leasehold::job& of, const letter& what) {
                    EXPECT_EQ(of.id(), made.id);
                    seen = what;
                }));
    EXPECT_EQ(does.run().completed, 1);
    EXPECT_EQ(seen.to, "you");
    EXPECT_EQ(seen.pages, 3);
}

TEST_F(worker_suite, a_payload_of_another_type_fails_the_attempt) {
    new_job what{.kind = "send", .payload = "a parcel"};
    what.retry.max_attempts = 1;
    const auto made = queue_.enqueue(what);
    session mine{second_, calm("worker")};
    leasehold::worker does{mine, settings()};
    int calls = 0;
    does.handle("send", with_payload<letter>([&](leasehold::job&, const letter&) { ++calls; }));
    EXPECT_EQ(does.run().failed, 1);
    EXPECT_EQ(calls, 0);
    EXPECT_EQ(state_of(made.id), job_state::discarded);
    EXPECT_EQ(find_job(first_, made.id)->error, "no letter");
}

}  // namespace
}  // namespace leasehold::testing
