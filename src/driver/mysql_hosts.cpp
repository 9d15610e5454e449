#include "driver/mysql_hosts.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "leasehold/error.hpp"

namespace leasehold::mysql {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

// Asks for the values as text. OFF means on every version that the server takes writes, whereas the
// type of the numbers varies.
bool takes_writes(connection& on) {
    constexpr const char* question =
        "SHOW GLOBAL VARIABLES WHERE Variable_name IN ('read_only', 'super_read_only', "
        "'innodb_read_only') AND Value <> 'OFF'";
    return on.execute(question, {}).rows.empty();
}

// The message without its advice, which is about one host alone.
std::string short_words(const error& failure) {
    const std::string whole = failure.what();
    return whole.substr(0, whole.find(": "));
}

}  // namespace

host_list::host_list(std::vector<address> all, opener open)
    : all_(std::move(all)), open_(std::move(open)) {}

std::vector<std::size_t> host_list::order() const {
    std::vector<std::size_t> positions{preferred_};
    for (std::size_t at = 0; at < all_.size(); ++at) {
        if (at != positions.front()) positions.push_back(at);
    }
    return positions;
}

std::unique_ptr<connection> host_list::connect(milliseconds timeout) {
    if (all_.size() == 1) return open_(all_.front(), timeout);
    const auto until = steady_clock::now() + timeout;
    std::string said;
    error_facts facts;
    std::size_t hosts_left = all_.size();
    std::optional<std::size_t> left_out;
    for (const std::size_t at : order()) {
        const auto left = std::chrono::ceil<milliseconds>(until - steady_clock::now());
        const bool is_late = left <= milliseconds{0} && hosts_left < all_.size();
        std::string words = "MySQL at " + place_of(all_[at]);
        if (is_late) {
            words += " was not asked any more";
            if (!left_out) left_out = at;
            facts.is_passing = true;
        } else {
            const auto part = left / static_cast<milliseconds::rep>(hosts_left);
            try {
                auto made = open_(all_[at], std::max(part, milliseconds{1}));
                if (takes_writes(*made)) {
                    preferred_ = at;
                    return made;
                }
                words += " takes no writes";
                facts.is_passing = true;  // it may be promoted
            } catch (const error& failure) {
                words = short_words(failure);
                facts.is_passing = facts.is_passing || failure.is_transient();
                facts.native_code = failure.native_code();
            }
        }
        said += (said.empty() ? "" : ", ") + words;
        --hosts_left;
    }
    // Whole seconds may use the time up before the last hosts' turn: the next call begins with
    // them.
    if (left_out) preferred_ = *left_out;
    throw error{
        errc::connection_failed,
        "no host of the URL takes writes: " + said +
            "; is the primary among them, and does it run?",
        std::move(facts)};
}

}  // namespace leasehold::mysql
