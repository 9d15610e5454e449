#include "bench/gauges.hpp"

#include <algorithm>
#include <utility>

#include "bench/texts.hpp"
#include "leasehold/error.hpp"

namespace leasehold::bench {
namespace {

// The names that MySQL and MariaDB have for them.
const std::map<std::string, std::string, std::less<>> mysql_names{
    {"Questions", "statements"},
    {"Innodb_os_log_written", "log_bytes"},
    {"Innodb_os_log_fsyncs", "flushes"}};

}  // namespace

gauges::gauges(const place& where, std::function<double()> server_cpu)
    : database_(where.open(1, database_settings{}.statement_timeout)),
      place_(where),
      engine_(database_.server().engine),
      sees_statements_(has_text(engine_, "statements")),
      server_cpu_(std::move(server_cpu)) {
    read();  // prepares what is asked
    const counts before = read();
    own_ = between(before, read());
    own_.erase("server_cpu_us");
}

counts gauges::read() {
    counts found = ask();
    if (server_cpu_) found["server_cpu_us"] = server_cpu_();
    return found;
}

counts gauges::ask() {
    counts found;
    if (!has_text(engine_, "gauges")) return found;
    const auto text = [&](const char* name) { return text_of(engine_, name, place_.names); };
    const result answer = database_.execute(text("gauges"));
    if (engine_ != engine::postgres) {
        for (const row& each : answer.rows) {
            const auto name = mysql_names.find(each.text(0));
            if (name == mysql_names.end()) continue;
            found[name->second] = static_cast<double>(each.at(1).integer());
        }
        return found;
    }
    found["log_bytes"] = static_cast<double>(answer.rows.at(0).integer(0));
    found["commits"] = static_cast<double>(answer.rows.at(0).integer(1));
    if (!sees_statements_) return found;
    try {
        const result calls = database_.execute(text("statements"));
        found["statements"] = static_cast<double>(calls.rows.at(0).integer(0));
    } catch (const error&) {
        sees_statements_ = false;  // no such extension, or not for us
    }
    return found;
}

counts gauges::between(const counts& before, const counts& after) const {
    counts change;
    for (const auto& [name, value] : after) {
        const auto from = before.find(name);
        if (from == before.end()) continue;
        const auto own = own_.find(name);
        change[name] = value - from->second - (own == own_.end() ? 0 : own->second);
    }
    return change;
}

}  // namespace leasehold::bench
