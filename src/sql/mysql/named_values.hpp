#pragma once
// The answers of SHOW VARIABLES and SHOW STATUS: the existing settings or counters, by name.
#include <cstdint>
#include <map>
#include <string>

#include "leasehold/value.hpp"

namespace leasehold::mysql_dialect {

class named_values {
public:
    explicit named_values(const result& said) {
        constexpr std::size_t name = 0, given = 1;
        for (const row& each : said.rows) values_[each.bytes(name)] = each.bytes(given);
    }

    // Empty if the server has none of that name.
    std::string operator[](const std::string& name) const {
        const auto found = values_.find(name);
        return found == values_.end() ? std::string{} : found->second;
    }
    std::int64_t number(const std::string& name) const {
        const std::string given = (*this)[name];
        return given.empty() ? 0 : std::stoll(given);
    }
    bool is_on(const std::string& name) const {
        const std::string given = (*this)[name];
        return !given.empty() && given != "OFF" && given != "0";
    }

private:
    std::map<std::string, std::string> values_;
};

}  // namespace leasehold::mysql_dialect
