#pragma once
// Reads Prometheus' text format, 0.0.4, and is strict about it: an unknown line is an error,
// with its line. By the rules of the format's own page: each family once, HELP and TYPE before its
// samples, which stand together; names, labels and values as they must be; no series twice; and
// histograms whose buckets grow, end with +Inf, and agree with _count.
#include <charconv>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "core/utf8.hpp"

namespace leasehold::testing {

class exposition_reader {
public:
    using labels = std::map<std::string, std::string>;
    struct sample {
        std::string name;
        labels by;
        double value = 0;
    };

    explicit exposition_reader(const std::string& page) {
        if (page.empty() || page.back() != '\n') fail("the last line has no end");
        if (!is_utf8(page)) fail("no UTF-8");
        std::size_t from = 0;
        while (from < page.size()) {
            const auto end = page.find('\n', from);
            line_ = page.substr(from, end - from);
            from = end + 1;
            read_line();
        }
        check_histograms();
    }

    const std::vector<sample>& samples() const noexcept { return samples_; }
    const std::map<std::string, std::string>& types() const noexcept { return types_; }
    // Nothing when there is no such series.
    std::optional<double> value(const std::string& name, const labels& by = {}) const {
        for (const sample& each : samples_) {
            if (each.name == name && each.by == by) return each.value;
        }
        return std::nullopt;
    }

private:
    [[noreturn]] void fail(const std::string& why) const {
        throw std::runtime_error(why + ": " + line_);
    }

    void read_line() {
        if (line_.starts_with("# HELP ")) return begin_family();
        if (line_.starts_with("# TYPE ")) return read_type();
        if (line_.empty() || line_.front() == '#') fail("neither HELP, TYPE nor a sample");
        read_sample();
    }

    void begin_family() {
        std::string_view rest = std::string_view{line_}.substr(7);
        family_ = std::string{rest.substr(0, rest.find(' '))};
        require_name(family_, true);
        if (!seen_.insert(family_).second) fail("a family twice");
        if (rest.size() <= family_.size() + 1) fail("no help");
        is_typed_ = false;
    }

    void read_type() {
        const std::string_view rest = std::string_view{line_}.substr(7);
        const auto blank = rest.find(' ');
        if (blank == std::string_view::npos || rest.substr(0, blank) != family_) {
            fail("TYPE without its HELP before it");
        }
        const std::string type{rest.substr(blank + 1)};
        if (type != "counter" && type != "gauge" && type != "histogram") fail("no such type");
        if (is_typed_) fail("TYPE twice");
        if (type == "counter" && !family_.ends_with("_total")) fail("a counter's name");
        types_[family_] = type;
        is_typed_ = true;
    }

    void read_sample() {
        if (!is_typed_) fail("a sample before its TYPE");
        std::string_view rest = line_;
        sample made;
        const auto name_end = rest.find_first_of("{ ");
        if (name_end == std::string_view::npos) fail("no value");
        made.name = std::string{rest.substr(0, name_end)};
        require_name(made.name, true);
        require_of_family(made.name);
        rest.remove_prefix(name_end);
        if (rest.front() == '{') read_labels(rest, made.by);
        if (rest.empty() || rest.front() != ' ') fail("one blank stands before the value");
        rest.remove_prefix(1);
        made.value = number(rest);
        if (types_[family_] != "gauge" && made.value < 0) fail("it may not be negative");
        if (!series_.emplace(made.name, made.by).second) fail("a series twice");
        samples_.push_back(std::move(made));
    }

    void require_of_family(const std::string& name) const {
        const bool is_histogram = types_.at(family_) == "histogram";
        if (!is_histogram && name == family_) return;
        for (const char* const suffix : {"_bucket", "_sum", "_count"}) {
            if (is_histogram && name == family_ + suffix) return;
        }
        fail("a sample among those of another family");
    }

    void read_labels(std::string_view& rest, labels& into) const {
        rest.remove_prefix(1);
        while (true) {
            const auto name_end = rest.find('=');
            if (name_end == std::string_view::npos) fail("a label without a value");
            const std::string name{rest.substr(0, name_end)};
            require_name(name, false);
            rest.remove_prefix(name_end + 1);
            if (!into.emplace(name, quoted(rest)).second) fail("a label twice");
            if (rest.empty()) fail("the labels have no end");
            const char next = rest.front();
            rest.remove_prefix(1);
            if (next == '}') return;
            if (next != ',') fail("between labels stands a comma");
        }
    }

    std::string quoted(std::string_view& rest) const {
        if (rest.empty() || rest.front() != '"') fail("a label's value stands in quotes");
        rest.remove_prefix(1);
        std::string value;
        while (!rest.empty() && rest.front() != '"') {
            char each = rest.front();
            rest.remove_prefix(1);
            if (each == '\\') {
                if (rest.empty()) fail("nothing behind a backslash");
                each = rest.front();
                rest.remove_prefix(1);
                if (each == 'n') {
                    each = '\n';
                } else if (each != '\\' && each != '"') {
                    fail("no such escape");
                }
            }
            value += each;
        }
        if (rest.empty()) fail("a value has no end");
        rest.remove_prefix(1);
        return value;
    }

    double number(std::string_view text) const {
        if (text == "+Inf") return std::numeric_limits<double>::infinity();
        double value = 0;
        const auto end = text.data() + text.size();
        const auto read = std::from_chars(text.data(), end, value);
        if (read.ec != std::errc{} || read.ptr != end) fail("no number");
        return value;
    }

    void require_name(const std::string& name, bool is_metric) const {
        for (std::size_t at = 0; at < name.size(); ++at) {
            const char each = name[at];
            const bool is_letter = (each >= 'a' && each <= 'z') || (each >= 'A' && each <= 'Z');
            const bool is_digit = each >= '0' && each <= '9' && at > 0;
            if (!is_letter && !is_digit && each != '_' && !(is_metric && each == ':')) {
                fail("no name");
            }
        }
        if (name.empty() || (!is_metric && name.starts_with("__"))) fail("no name");
    }

    void check_histograms() const {
        for (const auto& [family, type] : types_) {
            if (type != "histogram") continue;
            std::set<labels> of;
            for (const sample& each : samples_) {
                if (each.name == family + "_count") of.insert(each.by);
                if (each.name != family + "_bucket") continue;
                labels without = each.by;
                if (without.erase("le") != 1) fail(family + " has a bucket without an end");
                of.insert(without);
            }
            for (const labels& each : of) check_histogram(family, each);
        }
    }

    void check_histogram(const std::string& family, const labels& by) const {
        double last_end = -std::numeric_limits<double>::infinity(), last_count = 0;
        for (const sample& each : samples_) {
            labels without = each.by;
            without.erase("le");
            if (each.name != family + "_bucket" || without != by) continue;
            const double end = number(each.by.at("le"));
            if (end <= last_end || each.value < last_count) fail(family + " has unordered buckets");
            last_end = end;
            last_count = each.value;
        }
        if (last_end != std::numeric_limits<double>::infinity()) fail(family + " has no +Inf");
        if (value(family + "_count", by) != last_count) fail(family + " has another _count");
        if (!value(family + "_sum", by)) fail(family + " has no _sum");
    }

    std::string line_;
    std::string family_;
    bool is_typed_ = false;
    std::set<std::string> seen_;
    std::map<std::string, std::string> types_;
    std::set<std::pair<std::string, labels>> series_;
    std::vector<sample> samples_;
};

}  // namespace leasehold::testing
