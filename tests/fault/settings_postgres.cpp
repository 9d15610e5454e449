// Settings that can be turned against the library on PostgreSQL, as ALTER DATABASE … SET of a
// database of our own, for which it counts as for a role: no other user of the server notices.
#include <iostream>

#include "database/database.hpp"
#include "fault/hostile_place.hpp"
#include "leasehold/driver/postgres.hpp"
#include "leasehold/error.hpp"
#include "support/patient.hpp"
#include "support/required.hpp"
#include "support/url.hpp"

namespace leasehold::testing {
namespace {

hostile_setting pinned(const std::string& name, const std::string& hostile, const char* kept) {
    return {name, {{name, hostile}}, "SELECT current_setting('" + name + "')", kept};
}

class postgres_place final : public hostile_place {
public:
    postgres_place()
        : url_(require_url("postgres")),
          name_(fresh_prefix() + "hostile"),
          own_(postgres::open(url_, patient())) {
        run("CREATE DATABASE " + name_);
    }
    ~postgres_place() override {
        try {
            run("DROP DATABASE " + name_ + " WITH (FORCE)");
        } catch (const error& failure) {
            std::cerr << failure.what() << '\n';
        }
    }

    database open(const std::string& prefix) const override {
        database_settings chosen;
        chosen.names.prefix = prefix;
        chosen.connect_timeout = std::chrono::seconds{20};  // whatever else the disk has to do
        return postgres::open(with_database(url_, name_), chosen);
    }
    void set(const hostile_setting& what) override {
        for (const auto& [name, hostile] : what.variables) {
            run("ALTER DATABASE " + name_ + " SET " + name + " = " + hostile);
        }
    }
    void restore() noexcept override {
        try {
            run("ALTER DATABASE " + name_ + " RESET ALL");
        } catch (const std::exception& failure) {
            std::cerr << name_ << " stays hostile: " << failure.what() << '\n';
        }
    }

    std::string first_parameter() const override { return "$1"; }
    std::string bytes_type() const override { return "bytea"; }
    std::string one_third() const override { return "1.0::float8 / 3"; }
    std::string end_of_table() const override { return ""; }
    std::string two_hours_before(const std::string& column) const override {
        return column + " - interval '2 hours'";
    }

private:
    void run(const std::string& sql) const {
        own_.inner()->use_unchecked([&](connection& on, store_set&) { on.execute(sql); });
    }

    const std::string url_;
    const std::string name_;
    const database own_;
};

}  // namespace

std::vector<hostile_setting> hostile_settings() {
    return {
        // "Cancelled the wait for the standby" is a warning.
        pinned("client_min_messages", "error", "notice"),
        pinned("extra_float_digits", "-15", "1"),
        pinned("standard_conforming_strings", "off", "on"),
        {"jit",
         {{"jit", "on"},
          {"jit_above_cost", "0"},
          {"jit_inline_above_cost", "0"},
          {"jit_optimize_above_cost", "0"}},
         "SELECT current_setting('jit')",
         "off"},
        pinned("plan_cache_mode", "force_custom_plan", "auto"),
        pinned("statement_timeout", "3", "3150ms"),
        pinned("lock_timeout", "1", "3150ms"),
        pinned("idle_in_transaction_session_timeout", "20", "3150ms"),
        pinned("idle_session_timeout", "2000", "1h"),
        pinned("default_transaction_isolation", "serializable", "read committed"),
        {"default_transaction_deferrable", {{"default_transaction_deferrable", "on"}}},
        {"times",
         {{"DateStyle", "'SQL, DMY'"},
          {"IntervalStyle", "sql_standard"},
          {"TimeZone", "'Asia/Kathmandu'"}}},
        {"texts",
         {{"bytea_output", "escape"},
          {"array_nulls", "off"},
          {"transform_null_equals", "on"},
          {"quote_all_identifiers", "on"},
          {"backslash_quote", "off"},
          {"xmloption", "document"},
          {"client_encoding", "LATIN1"}}},
        {"slow_plans",
         {{"enable_indexscan", "off"},
          {"enable_indexonlyscan", "off"},
          {"enable_bitmapscan", "off"},
          {"enable_hashjoin", "off"},
          {"enable_nestloop", "off"},
          {"enable_material", "off"},
          {"enable_sort", "off"},
          {"work_mem", "64"}}},
        {"parallel_plans",
         {{"force_parallel_mode", "on"},
          {"parallel_setup_cost", "0"},
          {"parallel_tuple_cost", "0"},
          {"min_parallel_table_scan_size", "0"},
          {"enable_mergejoin", "off"},
          {"geqo_threshold", "2"},
          {"join_collapse_limit", "1"},
          {"from_collapse_limit", "1"}}},
        {"generic_plans", {{"plan_cache_mode", "force_generic_plan"}, {"row_security", "off"}}},
        {"synchronous_commit", {{"synchronous_commit", "off"}}},
    };
}

std::vector<hostile_setting> refused_settings() {
    return {
        {"default_transaction_read_only",
         {{"default_transaction_read_only", "on"}},
         "",
         "takes no changes"},
    };
}

std::unique_ptr<hostile_place> make_hostile_place() {
    return std::make_unique<postgres_place>();
}

}  // namespace leasehold::testing
