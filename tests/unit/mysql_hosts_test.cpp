// The choice among a URL's hosts, on connections that answer as they are told.
#include "driver/mysql_hosts.hpp"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "leasehold/error.hpp"

namespace leasehold::mysql {
namespace {

using namespace std::chrono_literals;
using std::chrono::milliseconds;

enum class answer { writes, replica, down, breaks, denies };

// Answers the question after what is read-only, and nothing else.
class host final : public connection {
public:
    host(std::string name, answer how) : name_(std::move(name)), how_(how) {}
    const std::string& name() const { return name_; }

    const server_info& server() const noexcept override { return server_; }
    connection_state state() noexcept override { return connection_state::idle; }
    result execute(std::string_view sql, const parameters&) override {
        EXPECT_NE(sql.find("read_only"), std::string_view::npos) << sql;
        if (how_ == answer::breaks) throw error{errc::connection_lost, "MySQL broke: again"};
        result found;
        if (how_ == answer::replica) {
            found.rows.push_back(row{{std::string("read_only"), std::string("ON")}});
        }
        return found;
    }
    result execute_script(std::string_view, const parameters&) override { return {}; }
    void begin() override {}
    void commit() override {}
    void rollback() noexcept override {}
    void set_statement_timeout(milliseconds) override {}

private:
    const std::string name_;
    const answer how_;
    const server_info server_{};
};

class mysql_hosts_test : public ::testing::Test {
protected:
    host_list hosts(const std::string& names) {
        return {parse_url("mysql://app:s3cret@" + names + "/x"), [this](auto& to, auto timeout) {
                    return open(to, timeout);
                }};
    }
    std::unique_ptr<connection> open(const address& to, milliseconds timeout) {
        asked_.push_back(to.host);
        asked_timeout_ += timeout;
        const answer how = states_[to.host];
        if (how == answer::down || how == answer::denies) {
            error_facts facts;
            facts.is_passing = how == answer::down;
            facts.native_code = how == answer::down ? 2003 : 1045;
            throw error{
                errc::connection_failed,
                "MySQL at " + place_of(to) + " cannot be reached (error 2003): check host",
                facts};
        }
        return std::make_unique<host>(to.host, how);
    }
    static std::string name_of(const std::unique_ptr<connection>& made) {
        return static_cast<const host&>(*made).name();
    }
    std::vector<std::string> asked() { return std::exchange(asked_, {}); }

    std::map<std::string, answer> states_;
    std::vector<std::string> asked_;
    milliseconds asked_timeout_{0};
};

using names = std::vector<std::string>;

TEST_F(mysql_hosts_test, the_first_that_takes_writes_is_connected_to) {
    states_ = {{"a", answer::down}, {"b", answer::replica}, {"c", answer::writes}};
    auto all = hosts("a,b,c");
    EXPECT_EQ(name_of(all.connect(9s)), "c");
    EXPECT_EQ(asked(), (names{"a", "b", "c"}));
    EXPECT_LE(asked_timeout_, 9s + 4500ms + 3s) << "to each a part of what is left";
    EXPECT_GE(asked_timeout_, 3s);
}

TEST_F(mysql_hosts_test, who_took_writes_is_asked_first_as_long_as_it_does) {
    states_ = {{"a", answer::replica}, {"b", answer::writes}};
    auto all = hosts("a,b");
    EXPECT_EQ(name_of(all.connect(9s)), "b");
    states_["a"] = answer::writes;  // two of them: nobody changes sides
    asked();
    EXPECT_EQ(name_of(all.connect(9s)), "b");
    EXPECT_EQ(asked(), (names{"b"}));
    states_["b"] = answer::down;
    EXPECT_EQ(name_of(all.connect(9s)), "a");
    EXPECT_EQ(asked(), (names{"b", "a"}));
    EXPECT_EQ(name_of(all.connect(9s)), "a");
    EXPECT_EQ(asked(), (names{"a"}));
}

TEST_F(mysql_hosts_test, one_that_breaks_when_it_is_asked_is_passed_over) {
    states_ = {{"a", answer::breaks}, {"b", answer::writes}};
    EXPECT_EQ(name_of(hosts("a,b").connect(9s)), "b");
}

TEST_F(mysql_hosts_test, where_none_takes_writes_each_ones_answer_is_told) {
    states_ = {{"a", answer::down}, {"b", answer::replica}};
    auto all = hosts("a,b:3307");
    try {
        (void)all.connect(9s);
        FAIL() << "connected";
    } catch (const error& failure) {
        EXPECT_EQ(failure.code(), errc::connection_failed);
        EXPECT_TRUE(failure.is_transient()) << "one may be promoted";
        EXPECT_STREQ(
            failure.what(),
            "no host of the URL takes writes: MySQL at a:3306 cannot be reached (error 2003), "
            "MySQL "
            "at b:3307 takes no writes; is the primary among them, and does it run?"
        );
    }
    states_ = {{"a", answer::denies}, {"b", answer::denies}};
    try {
        (void)all.connect(9s);
        FAIL() << "connected";
    } catch (const error& failure) {
        EXPECT_FALSE(failure.is_transient()) << "nothing of that passes";
        EXPECT_EQ(failure.native_code(), 1045);
    }
}

TEST_F(mysql_hosts_test, whom_no_time_was_left_for_is_asked_first_the_next_time) {
    states_ = {{"a", answer::down}, {"b", answer::down}, {"c", answer::writes}};
    auto all = hosts("a,b,c");
    EXPECT_THROW((void)all.connect(0ms), error);
    EXPECT_EQ(asked(), (names{"a"}));
    EXPECT_THROW((void)all.connect(0ms), error);
    EXPECT_EQ(asked(), (names{"b"}));
    EXPECT_EQ(name_of(all.connect(9s)), "c");
    EXPECT_EQ(asked(), (names{"a", "b", "c"}));
    EXPECT_EQ(name_of(all.connect(0ms)), "c");
}

TEST_F(mysql_hosts_test, one_host_alone_is_connected_to_whatever_it_takes) {
    states_ = {{"a", answer::replica}};
    EXPECT_EQ(name_of(hosts("a").connect(9s)), "a");
}

}  // namespace
}  // namespace leasehold::mysql
