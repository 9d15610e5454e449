#pragma once
// Prometheus' text format, 0.0.4: families of samples, put together line by line.
//
//   # HELP leasehold_grants_total Leases granted.
//   # TYPE leasehold_grants_total counter
//   leasehold_grants_total{reason="tried"} 5
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace leasehold {

using sample_labels = std::vector<std::pair<std::string_view, std::string_view>>;

class exposition {
public:
    void begin(std::string_view family, std::string_view type, std::string_view help);
    // Adds a sample of the family begun last; `suffix`: "", or "_bucket" and the like of a
    // histogram.
    void add(std::string_view suffix, const sample_labels& labels, std::string_view value);

    std::string take() noexcept { return std::move(text_); }

private:
    std::string family_;
    std::string text_;
};

// True for letters, digits and underscores, but with no digit first, and not two underscores, which
// are Prometheus' own.
bool is_label_name(std::string_view name) noexcept;

}  // namespace leasehold
