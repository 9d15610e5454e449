#include "cli/run/line_protocol.hpp"

#include <chrono>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "cli/output.hpp"
#include "leasehold/error.hpp"

namespace leasehold::cli {
namespace {

[[noreturn]] void refuse(std::string_view line, const std::string& why) {
    constexpr std::size_t max_shown = 200;
    throw std::runtime_error(
        "CMD answered with what is no line of the protocol (" + why +
        "): " + printable(std::string{line.substr(0, max_shown)})
    );
}

std::string text_of(const nlohmann::json& answer, std::string_view line) {
    const auto found = answer.find("text");
    if (found == answer.end()) return {};
    if (!found->is_string()) refuse(line, "\"text\" is no string");
    return found->get<std::string>();
}

std::chrono::milliseconds pause_of(const nlohmann::json& answer, std::string_view line) {
    constexpr double max_seconds = 366.0 * 24 * 3600;
    const auto found = answer.find("seconds");
    if (found == answer.end() || !found->is_number()) refuse(line, "it has no \"seconds\"");
    const double seconds = found->get<double>();
    if (!(seconds >= 0 && seconds <= max_seconds)) refuse(line, "\"seconds\" is out of range");
    return std::chrono::ceil<std::chrono::milliseconds>(std::chrono::duration<double>{seconds});
}

// Writes a text of a job that goes on. If the database does not answer, the text before counts
// until the next one.
void note(job& mine, const nlohmann::json& answer, std::string_view line) {
    const std::string text = text_of(answer, line);
    try {
        if (answer["do"] == "progress") return mine.progress(text);
        if (!answer.contains("text")) refuse(line, "it has no \"text\"");
        mine.save_checkpoint(text);
    } catch (const error& failure) {
        if (failure.code() == errc::lease_lost) throw;
        if (failure.code() == errc::invalid_argument) refuse(line, failure.what());
    }
}

}  // namespace

std::string line_for(const job& mine) {
    nlohmann::json line{
        {"id", mine.id()},
        {"queue", mine.queue()},
        {"kind", mine.kind()},
        {"attempt", mine.attempt()},
        {"max_attempts", mine.max_attempts()},
        {"token", mine.token().number},
        {"payload", mine.payload()}};
    if (!mine.traceparent().empty()) line["traceparent"] = mine.traceparent();
    if (!mine.checkpoint().empty()) line["checkpoint"] = mine.checkpoint();
    return json_text(line) + '\n';
}

std::optional<std::string> obey(job& mine, std::string_view line) {
    const auto answer = nlohmann::json::parse(line, nullptr, false);
    if (!answer.is_object()) refuse(line, "it is no object of JSON");
    if (const auto id = answer.find("id"); id == answer.end() || *id != mine.id()) {
        refuse(line, "its \"id\" is not " + std::to_string(mine.id()));
    }
    if (const auto token = answer.find("token");
        token != answer.end() && *token != mine.token().number) {
        refuse(line, "its \"token\" is not " + std::to_string(mine.token().number));
    }
    const auto step = answer.find("do");
    if (step == answer.end() || !step->is_string()) refuse(line, "it has no \"do\"");
    const std::string what = step->get<std::string>();
    const std::string text = text_of(answer, line);
    if (what == "progress" || what == "checkpoint") {
        note(mine, answer, line);
        return std::nullopt;
    }
    if (what == "complete") {
        if (!text.empty()) mine.set_result(text);
    } else if (what == "fail") {
        if (answer.contains("seconds")) mine.set_retry_delay(pause_of(answer, line));
        return text.empty() ? "CMD says that it failed" : text;
    } else if (what == "snooze") {
        mine.snooze_for(pause_of(answer, line));
    } else if (what == "release") {
        mine.release();
    } else if (what == "discard") {
        mine.discard(text);
    } else {
        refuse(line, "there is no \"do\" of this name");
    }
    return "";
}

}  // namespace leasehold::cli
