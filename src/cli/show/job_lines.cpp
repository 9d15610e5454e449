#include "cli/show/job_lines.hpp"

#include <charconv>
#include <iostream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>

#include "cli/exit_status.hpp"
#include "cli/options.hpp"
#include "cli/show/json_source.hpp"

namespace leasehold::cli {
namespace {

using nlohmann::json;

// Two or four digits of a date.
int digits_of(const std::string& text, std::size_t from, std::size_t count) {
    int number = -1;
    if (from + count > text.size()) return number;
    const char* const begin = text.data() + from;
    const auto read = std::from_chars(begin, begin + count, number);
    return read.ptr == begin + count ? number : -1;
}

int number_of(const json& value, const std::string& name) {
    if (!value.is_number_integer()) throw usage_failure(name + " must be a whole number");
    constexpr std::int64_t most = 2'000'000'000;
    const bool is_huge = value.is_number_unsigned() && value.get<std::uint64_t>() > most;
    if (is_huge || value.get<std::int64_t>() < -most || value.get<std::int64_t>() > most) {
        throw usage_failure(name + " is out of range");
    }
    return static_cast<int>(value.get<std::int64_t>());
}

std::string text_of(const json& value, const std::string& name) {
    if (!value.is_string()) throw usage_failure(name + " must be a string");
    return value.get<std::string>();
}

// A job, the name by which others of its file know it, and the names of those it needs.
struct named_job {
    new_job what{};
    std::string name{};
    std::vector<std::string> needs{};
};

// Numbers of existing jobs, and names of lines.
void read_needs(const json& value, named_job& into) {
    if (!value.is_array()) throw usage_failure("needs must be an array of numbers and names");
    for (const json& each : value) {
        if (each.is_number_integer()) {
            into.what.depends_on.push_back(each.get<job_id>());
        } else if (each.is_string()) {
            into.needs.push_back(each.get<std::string>());
        } else {
            throw usage_failure("needs must be an array of numbers and names");
        }
    }
}

dependency_until dependency_until_of(const std::string& word) {
    if (word == "completed") return dependency_until::completed;
    if (word == "ended") return dependency_until::ended;
    throw usage_failure("needs_until is '" + word + "'; it must be completed or ended");
}

// Reads the job's place among those of its file. The result is false if the member is about the job
// alone.
bool read_place(const std::string& name, const json& value, named_job& into) {
    if (name == "name") {
        into.name = text_of(value, name);
    } else if (name == "needs") {
        read_needs(value, into);
    } else if (name == "needs_until") {
        into.what.depends_until = dependency_until_of(text_of(value, name));
    } else {
        return false;
    }
    return true;
}

void read_field(const std::string& name, const json& value, new_job& into) {
    if (name == "kind") {
        into.kind = text_of(value, name);
    } else if (name == "priority") {
        into.priority = number_of(value, name);
    } else if (name == "run_at") {
        into.run_at = parse_instant(text_of(value, name), name);
    } else if (name == "delay") {
        into.delay = parse_duration(text_of(value, name), name);
    } else if (name == "unique_key") {
        into.unique_key = text_of(value, name);
    } else if (name == "unique_until") {
        into.unique = unique_until_of(text_of(value, name));
    } else if (name == "ordering_key") {
        into.ordering_key = text_of(value, name);
    } else if (name == "attempts_max") {
        into.retry.max_attempts = number_of(value, name);
    } else if (name == "traceparent") {
        into.traceparent = text_of(value, name);
    } else {
        throw usage_failure(
            "there is no field '" + name +
            "'; there are payload, kind, priority, run_at, delay, unique_key, unique_until, "
            "ordering_key, attempts_max, traceparent, name, needs and needs_until"
        );
    }
}

named_job job_in(const std::string& line, const new_job& otherwise) {
    constexpr int max_depth = 500;
    if (depth_of(line) > max_depth) throw usage_failure("its brackets are more than 500 deep");
    const auto payload = member_of(line, "payload");
    const json object = json::parse(payload ? payload->without : line, nullptr, false);
    const bool is_wrong = (payload && !is_json(payload->text)) || line.find('\0') != line.npos;
    if (object.is_discarded() || is_wrong) throw usage_failure("it is not JSON");
    if (!object.is_object()) throw usage_failure("it is not a JSON object");
    if (!payload) throw usage_failure("it has no payload");
    named_job made{otherwise};
    for (const auto& [name, value] : object.items()) {
        if (name == "payload") continue;
        if (!read_place(name, value, made)) read_field(name, value, made.what);
    }
    const json text = json::parse(payload->text, nullptr, false);
    made.what.payload = text.is_string() ? text.get<std::string>() : payload->text;
    return made;
}

// A line may need a job of a later line.
class named_lines {
public:
    void add(named_job job, std::size_t line) {
        if (!job.name.empty() && !places_.emplace(job.name, jobs_.size()).second) {
            throw usage_failure("its name '" + job.name + "' is that of another line");
        }
        jobs_.push_back(std::move(job));
        lines_.push_back(line);
    }
    // `wrong` makes a failure from the words about a line.
    template <class Wrong>
    std::vector<new_job> take(Wrong&& wrong) {
        std::vector<new_job> all;
        all.reserve(jobs_.size());
        for (std::size_t at = 0; at < jobs_.size(); ++at) {
            for (const std::string& each : jobs_[at].needs) {
                const auto found = places_.find(each);
                if (found == places_.end()) {
                    throw wrong(lines_[at], "it needs '" + each + "', and no line has that name");
                }
                jobs_[at].what.depends_on_listed.push_back(found->second);
            }
            all.push_back(std::move(jobs_[at].what));
        }
        return all;
    }

private:
    std::vector<named_job> jobs_;
    std::vector<std::size_t> lines_;
    std::map<std::string, std::size_t> places_;
};

}  // namespace

std::vector<new_job> jobs_in(
    std::istream& lines, const new_job& otherwise, const std::string& name
) {
    const auto wrong = [&](std::size_t number, const std::string& what) {
        return usage_failure(
            "line " + std::to_string(number) + " of " + name + ": " + what +
            "; nothing was enqueued"
        );
    };
    named_lines jobs;
    std::string line;
    for (std::size_t number = 1; std::getline(lines, line); ++number) {
        if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
        try {
            jobs.add(job_in(line, otherwise), number);
        } catch (const failure& refused) {
            throw wrong(number, refused.what());
        }
    }
    return jobs.take(wrong);
}

std::string payload_of(const std::string& word) {
    if (word != "-") return word;
    return {std::istreambuf_iterator<char>{std::cin}, std::istreambuf_iterator<char>{}};
}

schedule::instant parse_instant(const std::string& text, const std::string& what) {
    using namespace std::chrono;
    const auto refuse = [&] {
        throw usage_failure(
            what + " is '" + text + "'; it must be an instant in UTC like 2026-12-24T18:00:00Z"
        );
    };
    constexpr std::string_view form = "dddd-dd-ddTdd:dd:dd";
    if (text.size() < form.size() + 1 || text.back() != 'Z') refuse();
    for (std::size_t at = 0; at < form.size(); ++at) {
        if (form[at] != 'd' && text[at] != form[at]) refuse();
    }
    const year_month_day day{
        year{digits_of(text, 0, 4)},
        month{static_cast<unsigned>(digits_of(text, 5, 2))},
        std::chrono::day{static_cast<unsigned>(digits_of(text, 8, 2))}};
    const int hour = digits_of(text, 11, 2), minute = digits_of(text, 14, 2);
    const int second = digits_of(text, 17, 2);
    const bool is_time =
        hour >= 0 && hour < 24 && minute >= 0 && minute < 60 && second >= 0 && second < 60;
    const std::string rest = text.substr(form.size(), text.size() - form.size() - 1);
    const bool is_fraction =
        rest.empty() || (rest.front() == '.' && rest.size() > 1 &&
                         rest.find_first_not_of("0123456789", 1) == std::string::npos);
    if (!day.ok() || !is_time || !is_fraction) refuse();
    return schedule::instant{sys_days{day}} + hours{hour} + minutes{minute} + seconds{second};
}

std::string last_line_of(const std::string& text) {
    const auto end = text.find_last_not_of(" \t\r\n");
    if (end == std::string::npos) return {};
    const auto begin = text.rfind('\n', end) + 1;
    return text.substr(begin, end + 1 - begin);
}

std::string summary_of(const std::string& error) {
    const std::string first = error.substr(0, error.find('\n'));
    const std::string last = last_line_of(error.substr(first.size()));
    return !first.starts_with("exit status ") || last.empty() ? first : last + " (" + first + ")";
}

on_conflict conflict_of(const std::string& word) {
    if (word == "keep") return on_conflict::keep;
    if (word == "replace") return on_conflict::replace;
    if (word == "fail") return on_conflict::fail;
    throw usage_failure("--on-conflict is '" + word + "'; it must be keep, replace or fail");
}

unique_until unique_until_of(const std::string& word) {
    if (word == "ended") return unique_until::ended;
    if (word == "started") return unique_until::started;
    throw usage_failure(
        "until when a job is unique is '" + word + "'; it must be ended or started"
    );
}

}  // namespace leasehold::cli
