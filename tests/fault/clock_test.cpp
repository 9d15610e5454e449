// The server's clock alone decides. No instant of the client travels, and a client's settings of
// time, in its process or its session, change nothing.
#include <cstdlib>
#include <ctime>
#include <regex>

#include "fault/suite.hpp"
#include "leasehold/reaper.hpp"
#include "support/granted.hpp"

namespace leasehold::testing {
namespace {

class clock_fault : public server_suite {
protected:
    // One of everything the library does in a session's life.
    void live(const database& db, const key& name) {
        session one{db, brisk("one")};
        const auto deadline = one.deadline();
        auto got = mutex{one, name}.try_acquire();
        ASSERT_TRUE(got);
        session two{db, brisk("two")};
        EXPECT_FALSE(is_granted(mutex(two, name).try_acquire()));
        EXPECT_TRUE(got->verify());
        transaction tx = db.begin();
        got->verify_in(tx);
        tx.commit();
        EXPECT_TRUE(eventually([&] { return one.deadline() > deadline + 500ms; }));
        EXPECT_EQ(got->release(), release_outcome::released);
        auto term = mutex{two, name, {.fixed_term = 20ms}}.try_acquire();
        EXPECT_TRUE(term);
        EXPECT_TRUE(mutex(one, name).acquire_for(20s)) << "a fixed term did not pass";
        EXPECT_TRUE(describe(db, name));
        force_release(db, name);
        list_locks(db);
        list_sessions(db);
        // This is not the hour of the default: in microseconds that is near the clock in seconds,
        // which this test would take for an instant.
        reap(db, {.session_retention = std::chrono::minutes{2}});
    }
};

// A number near the client's wall clock, in whatever unit, is an instant.
bool looks_like_an_instant(std::int64_t number) {
    const auto now = static_cast<double>(std::time(nullptr));
    for (const double unit : {1.0, 1e3, 1e6, 1e9}) {
        const double ratio = static_cast<double>(number) / (now * unit);
        if (ratio > 0.5 && ratio < 2) return true;
    }
    return false;
}

bool looks_like_an_instant(const std::string& text) {
    static const std::regex date{R"((19|20|21)\d\d-\d\d-\d\d)"};
    static const std::regex number{R"(\d{9,18})"};
    std::string cleaned = std::regex_replace(text, std::regex{"'1970-01-01'"}, "");
    if (std::regex_search(cleaned, date)) return true;
    for (std::sregex_iterator at{cleaned.begin(), cleaned.end(), number}, end; at != end; ++at) {
        if (looks_like_an_instant(std::stoll(at->str()))) return true;
    }
    return false;
}

// A list as PostgreSQL writes it: without bytes and random numbers, some of which have nine decimal
// digits in a row, and without what the database has said itself.
std::string without_what_is_not_ours(const std::string& words, const traffic& by) {
    static const std::regex bytes{R"(\\\\x[0-9a-f]*|\b[0-9a-f]{32}\b)"};
    static const std::regex number{R"(\d{9,18})"};
    std::string left = std::regex_replace(words, bytes, "");
    for (std::smatch found; std::regex_search(left, found, number);) {
        const auto value = std::stoll(found.str());
        if (looks_like_an_instant(std::int64_t{value}) && !by.was_heard(value)) return left;
        left = found.prefix().str() + found.suffix().str();
    }
    return left;
}

TEST_F(clock_fault, no_instant_of_the_client_travels) {
    ASSERT_TRUE(looks_like_an_instant(std::int64_t{std::time(nullptr)} * 1'000'000));
    ASSERT_TRUE(looks_like_an_instant("expires_at > '2026-10-25 03:00'"));
    const auto by = std::make_shared<traffic>();
    live(watched_by(by), fresh("k"));
    const auto all = by->statements();
    ASSERT_GT(all.size(), 20U);
    for (const auto& [text, values] : all) {
        EXPECT_FALSE(looks_like_an_instant(text)) << text;
        for (const value& each : values) {
            if (const auto* number = std::get_if<std::int64_t>(&each.held())) {
                // A ticket is the database's own number: the first of a queue is its clock.
                const bool is_of_the_client =
                    looks_like_an_instant(*number) && !by->was_heard(*number);
                EXPECT_FALSE(is_of_the_client) << *number << " in " << text;
            }
            if (const auto* words = std::get_if<std::string>(&each.held())) {
                EXPECT_FALSE(looks_like_an_instant(without_what_is_not_ours(*words, *by)))
                    << *words << " in " << text;
            }
            EXPECT_FALSE(std::holds_alternative<double>(each.held())) << text;
        }
    }
}

// Fourteen hours from the server, and every session set to something else again.
TEST_F(clock_fault, time_zones_and_session_clocks_do_not_matter) {
    const char* const was = std::getenv("TZ");
    const std::optional<std::string> old = was ? std::optional<std::string>{was} : std::nullopt;
    ::setenv("TZ", "Pacific/Kiritimati", 1);
    ::tzset();
    database_settings settings;
    const auto confuse = [to = server_](connection& on) {
        to->confuse_clock(on);
        return to->id_of(on);
    };
    const auto by = std::make_shared<traffic>();
    database confused = watched(current().open({}), by, confuse, settings);
    live(confused, fresh("k"));

    // Confused or not, the two handles agree on which sessions are alive and for how long.
    session here{confused, calm("here")}, there{second_, calm("there")};
    const key name = fresh("k");
    auto got = mutex{here, name}.try_acquire();
    EXPECT_FALSE(is_granted(mutex(there, name).try_acquire()));
    for (const database& each : {confused, second_}) {
        const auto seen = describe(each, name);
        ASSERT_TRUE(seen && seen->is_held);
        EXPECT_GT(seen->remaining, 50min);
        EXPECT_LE(seen->remaining, 1h);
    }
    expire(here);
    EXPECT_FALSE(describe(confused, name)->is_held);
    EXPECT_TRUE(mutex(there, name).try_acquire());
    if (old) ::setenv("TZ", old->c_str(), 1);
    if (!old) ::unsetenv("TZ");
    ::tzset();
}

}  // namespace
}  // namespace leasehold::testing
