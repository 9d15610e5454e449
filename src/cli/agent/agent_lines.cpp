#include "cli/agent/agent_lines.hpp"

#include "cli/exit_status.hpp"

namespace leasehold::cli {
namespace {

using std::chrono::milliseconds;

[[noreturn]] void refuse(const std::string& why) {
    throw usage_failure(why);
}

std::string quoted(const char* member) {
    return std::string{"\""} + member + '"';
}

}  // namespace

std::optional<nlohmann::json> id_of(const nlohmann::json& line) {
    if (!line.is_object()) return std::nullopt;
    const auto found = line.find("id");
    if (found == line.end() || found->is_structured()) return std::nullopt;
    return *found;
}

agent_request::agent_request(const nlohmann::json& line) : line_(line) {
    if (!line_.is_object()) refuse("a request is one object of JSON on one line");
    const auto id = line_.find("id");
    if (id != line_.end() && id->is_structured()) refuse("an \"id\" is no list and no object");
    what_ = text("do");
    if (what_.empty()) refuse("a request says what to \"do\"");
}

std::string agent_request::text(const char* member) const {
    const auto found = line_.find(member);
    if (found == line_.end()) return {};
    if (!found->is_string()) refuse(quoted(member) + " is a string");
    return found->get<std::string>();
}

std::string agent_request::key() const {
    std::string name = text("key");
    if (name.empty()) refuse("\"" + what_ + "\" needs a \"key\"");
    return name;
}

std::int64_t agent_request::hold() const {
    const auto found = line_.find("hold");
    if (found == line_.end() || !found->is_number_integer()) {
        refuse("\"" + what_ + "\" needs the number of a \"hold\"");
    }
    return found->get<std::int64_t>();
}

bool agent_request::has_succeeded() const {
    const auto found = line_.find("success");
    if (found == line_.end()) return true;
    if (!found->is_boolean()) refuse("\"success\" is true or false");
    return found->get<bool>();
}

std::optional<milliseconds> agent_request::seconds(const char* member) const {
    constexpr double most = 366.0 * 24 * 3600;
    const auto found = line_.find(member);
    if (found == line_.end()) return std::nullopt;
    const double given = found->is_number() ? found->get<double>() : -1;
    if (!(given >= 0 && given <= most)) {
        refuse(quoted(member) + " is a number of seconds, 0 to 366 days");
    }
    return std::chrono::ceil<milliseconds>(std::chrono::duration<double>{given});
}

std::optional<milliseconds> agent_request::wait() const {
    const auto found = line_.find("wait");
    if (found != line_.end() && *found == "forever") return std::nullopt;
    return seconds("wait").value_or(milliseconds{0});
}

std::optional<milliseconds> agent_request::keep_alive() const {
    const auto given = seconds("keep_alive");
    if (given && *given < std::chrono::seconds{1}) refuse("\"keep_alive\" is 1 second at least");
    return given;
}

schedule agent_request::when() const {
    const std::string cron = text("cron"), zone = text("zone");
    const auto every = seconds("every");
    if (cron.empty() == !every) refuse("\"once\" needs \"cron\" or \"every\"");
    if (every) return schedule::every(*every);
    return schedule::cron(cron, zone.empty() ? "UTC" : zone);
}

}  // namespace leasehold::cli
