#include "cluster/standbys.hpp"

#include "leasehold/error.hpp"
#include "support/eventually.hpp"

namespace leasehold::testing {

void heard_warnings::on_event(const event& what) noexcept {
    if (what.kind != event_kind::warning) return;
    const std::lock_guard guard{mutex_};
    said_.emplace_back(what.detail);
}

bool heard_warnings::has(const std::string& part) const {
    const std::lock_guard guard{mutex_};
    for (const std::string& each : said_) {
        if (each.find(part) != std::string::npos) return true;
    }
    return false;
}

void standbys::SetUp() {
    const char* const is_standby = "SELECT pg_is_in_recovery()::int";
    for (primary_ = 0; primary_ < cluster_.size(); ++primary_) {
        if (integer(primary_, is_standby) == 0) return;
    }
    FAIL() << "there is no primary";
}

void standbys::TearDown() {
    for (std::size_t node = 0; node < cluster_.size(); ++node) {
        if (node != primary_) let_follow(node);
    }
}

std::size_t standbys::standby(std::size_t which) const {
    return (primary_ + 1 + which) % cluster_.size();
}

void standbys::promote(std::size_t node) {
    cluster_.control(node, "promote");
    primary_ = node;
}

void standbys::let_follow(std::size_t node) const {
    cluster_.control(node, "follow " + number_of(primary_));
}

database standbys::open(std::chrono::milliseconds statement_timeout) const {
    return open_from(0, statement_timeout);
}

database standbys::open_from(std::size_t first, std::chrono::milliseconds statement_timeout) const {
    database_settings settings;
    settings.statement_timeout = statement_timeout;
    settings.observer = warnings_;
    return cluster_.open_all(std::move(settings), first);
}

bool standbys::eventually_well(const std::function<bool()>& holds) {
    return eventually([&] {
        try {
            return holds();
        } catch (const error& failure) {
            EXPECT_TRUE(failure.is_transient() || failure.outcome_is_unknown()) << failure.what();
            return false;
        }
    });
}

std::int64_t standbys::integer(std::size_t node, const std::string& sql) const {
    return cluster_.open(node).execute(sql).rows.at(0).integer(0);
}

std::int64_t standbys::waits_for_standby(std::size_t node) const {
    return integer(node, "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'");
}

}  // namespace leasehold::testing
