#include "core/in_words.hpp"

#include <array>

namespace leasehold {

using std::chrono::microseconds;

std::string in_words(microseconds time) {
    struct unit {
        microseconds length;
        const char* name;
    };
    using namespace std::chrono_literals;
    static constexpr std::array units{
        unit{24h, " days"}, unit{1h, " h"}, unit{1min, " min"}, unit{1s, " s"}, unit{1ms, " ms"}};
    for (const unit& each : units) {
        if (time >= 2 * each.length) return std::to_string(time / each.length) + each.name;
    }
    return std::to_string(time / units.back().length) + " ms";
}

std::string in_words(std::int64_t count, std::string_view noun) {
    return std::to_string(count) + ' ' + std::string{noun} + (count == 1 ? "" : "s");
}

}  // namespace leasehold
