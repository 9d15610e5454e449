#include "bench/plot.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <map>

#include "bench/print.hpp"

namespace leasehold::bench {
namespace {

constexpr double width = 460, height = 300;
constexpr double left = 70, right = 20, top = 40, bottom = 70;
constexpr int columns = 2;
// Told apart by people who do not see all colours (Okabe and Ito), and in print by their marks.
constexpr std::array<const char*, 6> colours{
    "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00"};

std::string decimal(double number) {
    std::array<char, 40> text{};
    std::snprintf(text.data(), text.size(), "%.1f", number);
    return text.data();
}

std::string size_text(double size) {
    return std::to_string(std::lround(size));
}

std::string escaped(const std::string& text) {
    std::string made;
    for (const char each : text) {
        if (each == '<') made += "&lt;";
        if (each == '&') made += "&amp;";
        if (each != '<' && each != '&') made += each;
    }
    return made;
}

// 1, 2, 5, 10, 20 … at or above.
double round_up(double number) {
    if (number <= 0) return 1;
    const double ten = std::pow(10, std::floor(std::log10(number)));
    for (const double each : {1.0, 2.0, 5.0}) {
        if (number <= each * ten) return each * ten;
    }
    return 10 * ten;
}

// Turns numbers into places on the paper. Sizes double, so their axis is logarithmic.
class axes {
public:
    explicit axes(const plot& of) {
        for (const line& each : of.lines) {
            for (const auto& [x, y] : each.points) {
                sizes_.push_back(x);
                most_ = std::max(most_, y);
            }
        }
        std::sort(sizes_.begin(), sizes_.end());
        sizes_.erase(std::unique(sizes_.begin(), sizes_.end()), sizes_.end());
        most_ = round_up(most_);
    }
    const std::vector<double>& sizes() const noexcept { return sizes_; }
    double most() const noexcept { return most_; }

    double x(double size) const {
        const double from = std::log2(std::max(sizes_.front(), 1.0));
        const double to = std::log2(std::max(sizes_.back(), 1.0));
        const double share = to > from ? (std::log2(std::max(size, 1.0)) - from) / (to - from) : 0;
        return left + share * (width - left - right);
    }
    double y(double number) const {
        return height - bottom - number / most_ * (height - top - bottom);
    }

private:
    std::vector<double> sizes_;
    double most_ = 0;
};

std::string text_at(
    double x, double y, const std::string& text, const std::string& anchor, const char* more = ""
) {
    return "<text x=\"" + decimal(x) + "\" y=\"" + decimal(y) + "\" text-anchor=\"" + anchor +
           "\"" + more + ">" + escaped(text) + "</text>\n";
}

std::string line_from(double x1, double y1, double x2, double y2, const std::string& colour) {
    return "<line x1=\"" + decimal(x1) + "\" y1=\"" + decimal(y1) + "\" x2=\"" + decimal(x2) +
           "\" y2=\"" + decimal(y2) + "\" stroke=\"" + colour + "\"/>\n";
}

std::string frame_of(const plot& of, const axes& on) {
    std::string made = text_at(width / 2, 20, of.title, "middle", " font-weight=\"bold\"");
    constexpr int ticks = 4;
    for (int each = 0; each <= ticks; ++each) {
        const double number = on.most() * each / ticks;
        const double y = on.y(number);
        made += line_from(left, y, width - right, y, "#dddddd");
        made += text_at(left - 6, y + 4, shown_number(number), "end");
    }
    for (const double each : on.sizes()) {
        made += text_at(on.x(each), height - bottom + 16, size_text(each), "middle");
    }
    made += text_at(width - right, height - bottom + 32, of.x_label, "end");
    return made + text_at(left - 6, top - 10, of.y_label, "start");
}

std::string lines_of(const plot& of, const axes& on) {
    std::string made;
    double key_at = left;
    for (std::size_t each = 0; each < of.lines.size(); ++each) {
        const std::string colour = colours[each % colours.size()];
        std::string path;
        for (const auto& [x, y] : of.lines[each].points) {
            path.append(path.empty() ? "M" : " L").append(decimal(on.x(x)));
            path.append(",").append(decimal(on.y(y)));
            made += "<circle cx=\"" + decimal(on.x(x)) + "\" cy=\"" + decimal(on.y(y)) +
                    "\" r=\"3\" fill=\"" + colour + "\"/>\n";
        }
        // The lines of the floors are dashed.
        const bool is_floor = of.lines[each].name.rfind("leasehold", 0) != 0;
        made.append("<path d=\"").append(path).append("\" fill=\"none\" stroke=\"").append(colour);
        made.append(is_floor ? "\" stroke-dasharray=\"5,3\"/>\n" : "\"/>\n");
        made += text_at(
            key_at, height - 12, of.lines[each].name, "start", (" fill=\"" + colour + "\"").c_str()
        );
        key_at += 20 + 6.5 * static_cast<double>(of.lines[each].name.size());
    }
    return made;
}

// The quantity over which a workload was measured.
struct scale {
    const char* label;
    double size;
};
scale scale_of(const workload& what) {
    if (what.what == "job-drain") return {"jobs in a batch", double(what.batch)};
    if (what.what.ends_with("-claim")) return {"rows in a batch", double(what.batch)};
    if (what.held > 0) return {"leases held", double(what.held)};
    return {what.what == "hop" ? "waiting" : "workers", double(what.workers)};
}

double cpu_of(const side_report& of) {
    double all = 0;
    for (const char* each : {"client_cpu_us", "server_cpu_us"}) {
        const auto found = of.each.find(each);
        if (found != of.each.end()) all += found->second;
    }
    return all;
}

void add_point(plot& to, const std::string& name, double x, double y) {
    auto found = std::find_if(to.lines.begin(), to.lines.end(), [&](const line& each) {
        return each.name == name;
    });
    if (found == to.lines.end()) found = to.lines.insert(found, line{name});
    found->points.emplace_back(x, y);
    std::sort(found->points.begin(), found->points.end());
}

}  // namespace

std::vector<plot> plots_of(const std::vector<report>& all) {
    std::map<std::string, std::pair<plot, plot>> made;
    for (const report& each : all) {
        const auto [label, size] = scale_of(each.what);
        auto& [rate, latency] = made[each.what.what + label];
        const std::string unit{each.what.unit()};
        const std::string title = each.what.what;
        rate = {title + ": throughput", label, unit + "/s", std::move(rate.lines)};
        latency = {title + ": median latency", label, "ms", std::move(latency.lines)};
        // Workloads that have a fixed number of operations, whatever these cost.
        const bool is_paced = each.what.what == "heartbeat" || each.what.what == "sessions";
        if (is_paced) {
            latency.title = title + ": CPU of client and server";
            latency.y_label = "us";
        }
        for (const side_report& one : each.sides) {
            const std::string name = one.name + (each.what.are_processes ? ", processes" : "");
            add_point(rate, name, size, one.rate.median);
            add_point(latency, name, size, is_paced ? cpu_of(one) : one.took.p50 / 1000);
        }
    }
    std::vector<plot> kept;
    for (auto& [name, both] : made) {
        const auto has_line = [](const line& each) { return each.points.size() > 1; };
        if (!std::any_of(both.first.lines.begin(), both.first.lines.end(), has_line)) continue;
        kept.push_back(std::move(both.first));
        kept.push_back(std::move(both.second));
    }
    return kept;
}

std::string svg_of(const std::vector<plot>& all) {
    const std::size_t rows = (all.size() + columns - 1) / columns;
    std::string made = "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" +
                       decimal(width * columns) + "\" height=\"" +
                       decimal(height * static_cast<double>(rows)) +
                       "\" font-family=\"sans-serif\" font-size=\"11\">\n"
                       "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n";
    for (std::size_t each = 0; each < all.size(); ++each) {
        const axes on{all[each]};
        const std::size_t column = each % columns, row = each / columns;
        made += "<g transform=\"translate(" + decimal(width * static_cast<double>(column)) + "," +
                decimal(height * static_cast<double>(row)) + ")\">\n" + frame_of(all[each], on) +
                lines_of(all[each], on) + "</g>\n";
    }
    return made + "</svg>\n";
}

}  // namespace leasehold::bench
