// The observer that writes JSON: each line is one valid object, whole, or is counted as dropped.
#include "leasehold/json_lines.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <csignal>
#include <limits>
#include <mutex>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "core/json_text.hpp"
#include "core/seconds_text.hpp"
#include "core/utf8.hpp"

namespace leasehold::testing {
namespace {

using namespace std::chrono_literals;

event granted(std::string_view key = "k") {
    return {event_kind::granted, key, 7, "", event_reason::tried, 1500us};
}

std::vector<std::string> lines_of(const std::string& text) {
    std::vector<std::string> lines;
    std::istringstream all{text};
    for (std::string line; std::getline(all, line);) lines.push_back(line);
    return lines;
}

// Two ends, the second of which is read to its end once the first is closed.
struct channel {
    explicit channel(bool is_socket) {
        EXPECT_EQ(
            is_socket ? socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()) : pipe(both.data()), 0
        );
        if (!is_socket) ends = {both[1], both[0]};
    }
    ~channel() {
        close_end(0);
        close_end(1);
    }
    channel(const channel&) = delete;
    channel& operator=(const channel&) = delete;

    void close_end(std::size_t which) {
        if (ends[which] >= 0) close(ends[which]);
        ends[which] = -1;
    }
    // Takes as much as there is just now.
    std::string take() const {
        std::string all;
        char part[4096];
        fcntl(ends[1], F_SETFL, O_NONBLOCK);
        for (ssize_t got = 0; (got = read(ends[1], part, sizeof part)) > 0;) {
            all.append(part, static_cast<std::size_t>(got));
        }
        return all;
    }
    int to() const { return ends[0]; }

    std::array<int, 2> ends{-1, -1}, both{-1, -1};
};

TEST(json_text, escapes_what_json_wants_escaped) {
    EXPECT_EQ(json_string("plain /k"), "\"plain /k\"");
    EXPECT_EQ(json_string("a\"b\\c"), "\"a\\\"b\\\\c\"");
    EXPECT_EQ(json_string("\n\t\r\b\f"), "\"\\n\\t\\u000d\\u0008\\u000c\"");
    EXPECT_EQ(json_string(std::string_view{"\0\x1f\x7f", 3}), "\"\\u0000\\u001f\\u007f\"");
    EXPECT_EQ(json_string("\xc3\xa4\xf0\x9f\x98\x80"), "\"\xc3\xa4\xf0\x9f\x98\x80\"");
}

TEST(json_text, replaces_what_is_no_utf8_byte_by_byte) {
    const std::string replaced = "\xef\xbf\xbd";
    EXPECT_EQ(json_string("a\xff"), "\"a" + replaced + "\"");
    EXPECT_EQ(json_string("\xc3"), "\"" + replaced + "\"");
    EXPECT_EQ(json_string("\xed\xa0\x80z"), "\"" + replaced + replaced + replaced + "z\"");
    for (int byte = 0; byte < 256; ++byte) {
        EXPECT_TRUE(is_utf8(json_string(std::string(3, static_cast<char>(byte))))) << byte;
    }
}

TEST(seconds_text, is_exact_and_short) {
    EXPECT_EQ(seconds_text(0ns), "0");
    EXPECT_EQ(seconds_text(1ns), "0.000000001");
    EXPECT_EQ(seconds_text(1500us), "0.0015");
    EXPECT_EQ(seconds_text(10s), "10");
    EXPECT_EQ(seconds_text(-1500ms), "-1.5");
    EXPECT_EQ(seconds_text(std::chrono::nanoseconds::max()), "9223372036.854775807");
    EXPECT_EQ(seconds_text(std::chrono::nanoseconds::min()), "-9223372036.854775808");
}

TEST(json_of, has_what_the_event_has) {
    using std::chrono::system_clock;
    const auto when = system_clock::time_point{
        std::chrono::duration_cast<system_clock::duration>(1'793'610'901s + 42us)};
    EXPECT_EQ(
        json_of(granted("a\"b"), when),
        "{\"time\":\"2026-11-02T09:15:01.000042Z\",\"level\":\"debug\",\"event\":\"granted\","
        "\"key\":\"a\\\"b\",\"number\":7,\"reason\":\"tried\",\"seconds\":0.0015}"
    );
    EXPECT_EQ(
        json_of({event_kind::warning, "", 0, "beware"}, system_clock::time_point{}),
        "{\"time\":\"1970-01-01T00:00:00.000000Z\",\"level\":\"warning\",\"event\":\"warning\","
        "\"detail\":\"beware\"}"
    );
    event of_job{event_kind::job_ended, "", 12, "no paper", event_reason::retried, 1500us};
    of_job.queue = "mail";
    of_job.job_kind = "confirm";
    of_job.attempt = 2;
    EXPECT_EQ(
        json_of(of_job, system_clock::time_point{}),
        "{\"time\":\"1970-01-01T00:00:00.000000Z\",\"level\":\"warning\",\"event\":\"job_ended\","
        "\"queue\":\"mail\",\"kind\":\"confirm\",\"attempt\":2,\"number\":12,\"reason\":"
        "\"retried\","
        "\"seconds\":0.0015,\"detail\":\"no paper\"}"
    );
    EXPECT_NE(
        json_of({}, system_clock::time_point{} - 1us).find("1969-12-31T23:59:59.999999Z"),
        std::string::npos
    );
}

TEST(json_lines, writes_a_line_for_each_event) {
    std::ostringstream out;
    json_lines lines{out};
    lines.on_event(granted());
    lines.on_event({event_kind::lost, "k", 7, "expired", event_reason::expired});
    const auto said = lines_of(out.str());
    ASSERT_EQ(said.size(), 2U);
    EXPECT_NE(said[0].find("\"event\":\"granted\",\"key\":\"k\""), std::string::npos);
    EXPECT_NE(said[1].find("\"level\":\"error\",\"event\":\"lost\""), std::string::npos);
    EXPECT_EQ(out.str().back(), '\n');
    EXPECT_EQ(lines.dropped(), 0U);
}

TEST(json_lines, a_stream_that_fails_drops_and_is_used_again_when_it_is_well) {
    std::ostringstream out;
    json_lines lines{out};
    out.setstate(std::ios::failbit);
    lines.on_event(granted());
    lines.on_event(granted());
    EXPECT_EQ(lines.dropped(), 2U);
    out.clear();
    lines.on_event(granted());
    EXPECT_EQ(lines_of(out.str()).size(), 1U);
    EXPECT_EQ(lines.dropped(), 2U);
}

TEST(json_lines, a_stream_that_throws_drops) {
    std::ostringstream out;
    json_lines lines{out};
    out.exceptions(std::ios::failbit);
    try {
        out.setstate(std::ios::failbit);
    } catch (const std::ios::failure&) {
        // As it should.
    }
    lines.on_event(granted());
    EXPECT_EQ(lines.dropped(), 1U);
}

TEST(json_lines, a_full_channel_is_not_waited_for_and_no_line_is_torn) {
    for (const bool is_socket : {false, true}) {
        channel full{is_socket};
        json_lines lines{full.to()};
        int told = 0;
        while (lines.dropped() == 0 && told < 200'000) {  // more than any channel holds
            lines.on_event(granted("k" + std::to_string(told)));
            ++told;
        }
        ASSERT_EQ(lines.dropped(), 1U) << told;
        std::string read = full.take();
        lines.on_event(granted("later"));  // takes along what was held back
        for (std::string more = full.take(); !more.empty(); more = full.take()) {
            read += more;
            lines.flush();
        }
        const auto said = lines_of(read);
        ASSERT_GE(said.size(), static_cast<std::size_t>(told) - 1);
        for (const std::string& each : said) {
            EXPECT_TRUE(each.starts_with("{\"time\":") && each.ends_with("}")) << each;
        }
        // All but the dropped ones came, in their order.
        for (int at = 0; at < told - 1; ++at) {
            const std::string key = "\"key\":\"k" + std::to_string(at) + "\"";
            ASSERT_NE(said[static_cast<std::size_t>(at)].find(key), std::string::npos) << at;
        }
    }
}

TEST(json_lines, a_reader_that_has_gone_ends_nobody) {
    for (const bool is_socket : {false, true}) {
        channel gone{is_socket};
        json_lines lines{gone.to()};
        gone.close_end(1);
        for (int told = 0; told < 10; ++told) lines.on_event(granted());
        sigset_t pending;
        sigpending(&pending);
        EXPECT_EQ(sigismember(&pending, SIGPIPE), 0);
    }
}

TEST(json_lines, a_full_disk_drops_once_what_is_held_back_is_full) {
    const int full = open("/dev/full", O_WRONLY | O_CLOEXEC);
    ASSERT_GE(full, 0);
    {
        json_lines lines{full};
        lines.on_event(granted());
        EXPECT_EQ(lines.dropped(), 0U) << "it is held back";
        for (int told = 0; told < 10'000; ++told) lines.on_event(granted());
        EXPECT_GT(lines.dropped(), 0U);
    }
    close(full);
}

TEST(json_lines, threads_write_whole_lines_and_lose_none) {
    constexpr int threads = 4, events = 2'000;
    std::ostringstream out;
    json_lines lines{out};
    {
        std::vector<std::jthread> all;
        for (int number = 0; number < threads; ++number) {
            all.emplace_back([&] {
                for (int at = 0; at < events; ++at) lines.on_event(granted());
            });
        }
    }
    lines.flush();
    const auto said = lines_of(out.str());
    EXPECT_EQ(said.size() + lines.dropped(), std::size_t{threads} * events);
    for (const std::string& each : said) {
        EXPECT_TRUE(each.starts_with("{\"time\":") && each.ends_with("0.0015}")) << each;
    }
}

}  // namespace
}  // namespace leasehold::testing
