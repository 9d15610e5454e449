#include "soak/history.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <system_error>

#include "leasehold/clock.hpp"

namespace leasehold::soak {
namespace {

constexpr std::array<std::string_view, 26> operation_names{
    "session", "acquire", "belief",  "append", "control",    "release", "force",  "fault", "drain",
    "entry",   "length",  "counter", "value",  "take",       "prove",   "proved", "yield", "proof",
    "state",   "enqueue", "run",     "effect", "completing", "cancel",  "done",   "left",
};
constexpr std::array<std::string_view, 5> phase_names{"invoke", "ok", "fail", "unknown", "note"};

template <class Value, std::size_t Size>
Value value_of(const std::array<std::string_view, Size>& names, const std::string& name) {
    const auto found = std::find(names.begin(), names.end(), name);
    if (found == names.end()) throw std::runtime_error("a history knows no '" + name + "'");
    return static_cast<Value>(found - names.begin());
}

}  // namespace

std::string_view name_of(operation what) noexcept {
    return operation_names.at(static_cast<std::size_t>(what));
}

std::string_view name_of(phase when) noexcept {
    return phase_names.at(static_cast<std::size_t>(when));
}

std::string to_line(const record& what) {
    nlohmann::ordered_json line{
        {"t", what.at_ns},
        {"process", what.process},
        {"id", what.id},
        {"op", name_of(what.what)},
        {"type", name_of(what.when)},
    };
    if (what.key >= 0) line["key"] = what.key;
    if (what.grant) line["grant"] = what.grant;
    if (what.token) line["token"] = what.token;
    if (what.number) line["n"] = what.number;
    if (what.until_ns) line["until"] = what.until_ns;
    if (!what.detail.empty()) line["detail"] = what.detail;
    // The words of a server need not be UTF-8.
    return line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

record from_line(const std::string& line) {
    const auto read = nlohmann::json::parse(line);
    record made;
    made.at_ns = read.at("t");
    made.process = read.at("process");
    made.id = read.at("id");
    made.what = value_of<operation>(operation_names, read.at("op"));
    made.when = value_of<phase>(phase_names, read.at("type"));
    made.key = read.value("key", -1);
    made.grant = read.value("grant", std::int64_t{0});
    made.token = read.value("token", std::int64_t{0});
    made.number = read.value("n", std::int64_t{0});
    made.until_ns = read.value("until", std::int64_t{0});
    made.detail = read.value("detail", std::string());
    return made;
}

std::int64_t now_ns() noexcept {
    return local_clock::now().time_since_epoch().count();
}

history_writer::history_writer(const std::filesystem::path& folder, int process)
    : process_(process) {
    const auto path = folder / ("process-" + std::to_string(process) + ".jsonl");
    file_ = open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644);
    if (file_ < 0) throw std::system_error(errno, std::generic_category(), path.string());
}

history_writer::~history_writer() {
    close(file_);
}

void history_writer::write(record what) {
    if (what.process == 0) what.process = process_;
    if (what.at_ns == 0) what.at_ns = now_ns();
    const std::string line = to_line(what) + '\n';
    // A line that is lost would be taken for an operation that never happened.
    if (::write(file_, line.data(), line.size()) != static_cast<ssize_t>(line.size())) {
        throw std::system_error(errno, std::generic_category(), "cannot write the history");
    }
}

std::vector<record> read_history(const std::filesystem::path& folder) {
    std::vector<record> all;
    for (const auto& each : std::filesystem::directory_iterator(folder)) {
        if (each.path().extension() != ".jsonl") continue;
        std::ifstream file(each.path());
        std::string line;
        while (std::getline(file, line)) {
            if (file.eof()) break;  // no end of line: its process was killed while it wrote
            all.push_back(from_line(line));
        }
    }
    std::stable_sort(all.begin(), all.end(), [](const record& one, const record& other) {
        return one.at_ns < other.at_ns;
    });
    return all;
}

}  // namespace leasehold::soak
