// MySQL's and MariaDB's settings that can be turned against the library: globally, for all new
// connections.
//
// LEASEHOLD_TEST_BACKEND says which server a run is about: mariadb or mysql.
#include <algorithm>
#include <cstdlib>
#include <iostream>

#include "fault/hostile_place.hpp"
#include "leasehold/driver/mysql.hpp"
#include "leasehold/error.hpp"
#include "support/patient.hpp"
#include "support/required.hpp"
#include "support/url.hpp"

namespace leasehold::testing {
namespace {

using settings = std::vector<hostile_setting>;

std::string backend() {
    const char* const said = std::getenv("LEASEHOLD_TEST_BACKEND");
    return said == nullptr ? "" : said;
}

// The server runs init_connect for everybody but superusers.
hostile_setting at_connect(const std::string& name, const std::string& statement) {
    return {"init_connect_" + name, {{"init_connect", "'" + statement + "'"}}};
}

const settings on_both{
    {"completion_type_chain", {{"completion_type", "1"}}},
    {"completion_type_release", {{"completion_type", "2"}}},
    {"autocommit_off", {{"autocommit", "0"}}},
    {"sql_select_limit_0", {{"sql_select_limit", "0"}}},
    {"sql_select_limit_1", {{"sql_select_limit", "1"}}},
    {"sql_safe_updates", {{"sql_safe_updates", "1"}}},
    {"lock_waits_of_a_second",
     {{"lock_wait_timeout", "1"}, {"innodb_lock_wait_timeout", "1"}},
     "SELECT @@lock_wait_timeout + @@innodb_lock_wait_timeout",
     "6"},
    {"waits_of_a_second",
     {{"wait_timeout", "1"}, {"net_read_timeout", "1"}, {"net_write_timeout", "1"}},
     "SELECT @@wait_timeout",
     "3600"},
    {"unchecked",
     {{"unique_checks", "0"}, {"foreign_key_checks", "0"}},
     "SELECT @@unique_checks + @@foreign_key_checks",
     "2"},
    {"character_sets_latin1",
     {{"character_set_client", "latin1"},
      {"character_set_connection", "latin1"},
      {"character_set_results", "latin1"},
      {"character_set_server", "latin1"},
      {"collation_connection", "latin1_general_cs"}}},
    {"time_zone_far_east", {{"time_zone", "'+13:00'"}}},
    {"short_values",
     {{"group_concat_max_len", "4"},
      {"max_sort_length", "64"},
      {"div_precision_increment", "0"},
      {"max_error_count", "0"},
      {"max_heap_table_size", "16384"},
      {"tmp_table_size", "1024"},
      {"sort_buffer_size", "32768"},
      {"join_buffer_size", "128"}},
     "SELECT @@max_sort_length + @@group_concat_max_len",
     "1049600"},
    {"other_plans",
     {{"optimizer_switch",
       "REPLACE(REPLACE(@@GLOBAL.optimizer_switch, '=on', '=off'), 'in_to_exists=off', "
       "'in_to_exists=on')"},
      {"optimizer_search_depth", "1"},
      {"optimizer_prune_level", "0"},
      {"max_seeks_for_key", "1"},
      {"eq_range_index_dive_limit", "1"},
      {"big_tables", "1"},
      {"sql_buffer_result", "1"}},
     "SELECT @@sql_buffer_result",
     "0"},
    {"other_tables",
     {{"default_storage_engine", "MyISAM"},
      {"default_tmp_storage_engine", "MyISAM"},
      {"explicit_defaults_for_timestamp", "0"},
      {"innodb_strict_mode", "0"},
      {"innodb_table_locks", "0"},
      {"sql_quote_show_create", "0"},
      {"sql_auto_is_null", "1"}}},
    {"much_said",
     {{"session_track_schema", "1"},
      {"session_track_state_change", "1"},
      {"session_track_system_variables", "'*'"},
      {"session_track_transaction_info", "'CHARACTERISTICS'"},
      {"sql_warnings", "1"}}},
    at_connect("timestamp", "SET timestamp = 1000000000"),
    at_connect("autocommit", "SET autocommit = 0"),
    at_connect("transaction", "START TRANSACTION"),
    at_connect("select_limit", "SET sql_select_limit = 0, completion_type = 1"),
};

const settings on_mariadb{
    // MySQL then refuses the client library's own first question; see below.
    {"max_join_size", {{"max_join_size", "100"}, {"sql_big_selects", "0"}}},
    {"isolation_serializable", {{"tx_isolation", "'SERIALIZABLE'"}}},
    {"isolation_read_uncommitted", {{"tx_isolation", "'READ-UNCOMMITTED'"}}},
    {"sql_mode_oracle", {{"sql_mode", "'ORACLE,NO_BACKSLASH_ESCAPES,PAD_CHAR_TO_FULL_LENGTH'"}}},
    {"sql_mode_strange",
     {{"sql_mode",
       "'ANSI_QUOTES,IGNORE_SPACE,EMPTY_STRING_IS_NULL,SIMULTANEOUS_ASSIGNMENT,"
       "HIGH_NOT_PRECEDENCE,NO_UNSIGNED_SUBTRACTION,TIME_ROUND_FRACTIONAL,REAL_AS_FLOAT'"}}},
    {"statement_time_of_20_ms",
     {{"max_statement_time", "0.02"}},
     "SELECT @@max_statement_time > 1",
     "1"},
    {"old", {{"old_mode", "'ZERO_DATE_TIME_CAST,NO_DUP_KEY_WARNINGS_WITH_IGNORE'"}, {"old", "1"}}},
    {"unchecked_rows", {{"check_constraint_checks", "0"}}, "SELECT @@check_constraint_checks", "1"},
    {"no_recursion",
     {{"max_recursive_iterations", "0"}},
     "SELECT @@max_recursive_iterations",
     "1000000"},
    {"snapshot_isolation", {{"innodb_snapshot_isolation", "1"}}},
    {"mariadbs_plans",
     {{"use_stat_tables", "'PREFERABLY'"},
      {"join_cache_level", "8"},
      {"in_predicate_conversion_threshold", "2"},
      {"optimizer_use_condition_selectivity", "1"}}},
    {"idle_transactions_of_a_second",
     {{"idle_transaction_timeout", "1"},
      {"idle_readonly_transaction_timeout", "1"},
      {"idle_write_transaction_timeout", "1"}}},
    {"sql_if_exists", {{"sql_if_exists", "1"}}},
};

const settings on_mysql{
    {"isolation_serializable", {{"transaction_isolation", "'SERIALIZABLE'"}}},
    {"isolation_read_uncommitted", {{"transaction_isolation", "'READ-UNCOMMITTED'"}}},
    {"sql_mode_strange",
     {{"sql_mode",
       "'ANSI,NO_BACKSLASH_ESCAPES,PAD_CHAR_TO_FULL_LENGTH,HIGH_NOT_PRECEDENCE,"
       "NO_UNSIGNED_SUBTRACTION,TIME_TRUNCATE_FRACTIONAL'"}}},
    {"statement_time_of_20_ms",
     {{"max_execution_time", "20"}},
     "SELECT @@max_execution_time > 1000",
     "1"},
    {"no_recursion",
     {{"cte_max_recursion_depth", "0"}},
     "SELECT @@cte_max_recursion_depth",
     "1000000"},
    {"primary_keys",
     {{"sql_require_primary_key", "1"}, {"sql_generate_invisible_primary_key", "1"}}},
    {"collation_of_utf8mb4", {{"default_collation_for_utf8mb4", "'utf8mb4_general_ci'"}}},
    {"mysqls_plans",
     {{"internal_tmp_mem_storage_engine", "'MEMORY'"},
      {"range_optimizer_max_mem_size", "1"},
      {"information_schema_stats_expiry", "0"}},
     "SELECT @@range_optimizer_max_mem_size",
     "8388608"},
};

class mysql_place final : public hostile_place {
public:
    mysql_place()
        : url_(require_url(backend())),
          user_(fresh_prefix() + "user"),
          own_(mysql::open(url_, patient())),
          on_(own_.begin()) {
        const std::string account = "'" + user_ + "'@'%'";
        on_.execute("CREATE USER " + account + " IDENTIFIED BY 'plain'");
        on_.execute("GRANT ALL ON leasehold.* TO " + account);
    }
    ~mysql_place() override {
        restore();
        try {
            on_.execute("DROP USER '" + user_ + "'@'%'");
        } catch (const error& failure) {
            std::cerr << failure.what() << '\n';
        }
    }

    database open(const std::string& prefix) const override {
        database_settings chosen;
        chosen.names.prefix = prefix;
        return mysql::open(with_user(url_, user_, "plain"), chosen);
    }
    void set(const hostile_setting& what) override {
        // All before any: some of them set others.
        for (const auto& [name, hostile] : what.variables) {
            const row before = on_.execute("SELECT @@GLOBAL." + name).rows.at(0);
            before_.emplace_back(name, literal_of(before.at(0)));
        }
        for (const auto& [name, hostile] : what.variables) {
            // MySQL 9.7 now and then refuses a computed text that it takes when written out (1231).
            const bool is_computed = hostile.find('(') != std::string::npos;
            const std::string to =
                is_computed ? literal_of(on_.execute("SELECT " + hostile).rows.at(0).at(0))
                            : std::string(hostile);
            on_.execute("SET GLOBAL " + name + " = " + to);
        }
    }
    // In the order of the table: a setting that another one sets by itself comes later there.
    void restore() noexcept override {
        for (const auto& [name, value] : before_) {
            try {
                on_.execute("SET GLOBAL " + name + " = " + value);
            } catch (const std::exception& failure) {
                std::cerr << name << " stays hostile: " << failure.what() << '\n';
            }
        }
        before_.clear();
    }

    std::string first_parameter() const override { return "?"; }
    std::string bytes_type() const override { return "VARBINARY(16)"; }
    std::string one_third() const override { return "1e0 / 3"; }
    std::string end_of_table() const override { return " ENGINE = InnoDB"; }
    std::string two_hours_before(const std::string& column) const override {
        return column + " - 7200000000";
    }

private:
    static std::string literal_of(const value& held) {
        if (const auto* number = std::get_if<std::int64_t>(&held.held())) {
            return std::to_string(*number);
        }
        if (const auto* real = std::get_if<double>(&held.held())) return std::to_string(*real);
        const auto* text = std::get_if<std::string>(&held.held());
        if (text == nullptr) return "DEFAULT";
        const bool is_number =
            !text->empty() && text->find_first_not_of("0123456789.") == std::string::npos;
        return is_number ? *text : "'" + *text + "'";
    }

    const std::string url_;
    const std::string user_;
    const database own_;
    transaction on_;  // one connection, from before anything is hostile; none of this is undone
    std::vector<std::pair<std::string, std::string>> before_;
};

settings joined(settings first, const settings& second) {
    first.insert(first.end(), second.begin(), second.end());
    return first;
}

}  // namespace

std::vector<hostile_setting> hostile_settings() {
    return joined(on_both, backend() == "mariadb" ? on_mariadb : on_mysql);
}

std::vector<hostile_setting> refused_settings() {
    const char* const read_only = backend() == "mariadb" ? "tx_read_only" : "transaction_read_only";
    return {
        // The client library's own first question is refused.
        {"max_join_size", {{"max_join_size", "1"}, {"sql_big_selects", "0"}}, "", "max_join_size"},
        {"max_allowed_packet", {{"max_allowed_packet", "1024"}}, "", "max_allowed_packet"},
        {"read_only", {{read_only, "1"}}, "", "takes no changes"},
    };
}

std::unique_ptr<hostile_place> make_hostile_place() {
    return std::make_unique<mysql_place>();
}

}  // namespace leasehold::testing
