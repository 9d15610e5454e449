#include "driver/postgres_hosts.hpp"

#include <algorithm>

#include "driver/postgres_connect.hpp"

namespace leasehold::postgres {
namespace {

constexpr const char* usual_port = "5432";

std::vector<std::string> parts_of(const char* list) {
    std::vector<std::string> parts;
    if (list == nullptr || *list == '\0') return parts;
    parts.emplace_back();
    for (; *list != '\0'; ++list) {
        if (*list == ',') {
            parts.emplace_back();
        } else {
            parts.back() += *list;
        }
    }
    return parts;
}

bool is_asked(const host& each, const PGconn* asked) {
    const std::string& name = each.name.empty() ? each.address : each.name;
    return name == text_or_none(PQhost(asked)) && each.port == text_or_none(PQport(asked));
}

// The host's position; the end if it is unknown.
hosts::const_iterator place_of(const hosts& all, const PGconn* asked) {
    return std::ranges::find_if(all, [asked](const host& each) { return is_asked(each, asked); });
}

}  // namespace

hosts hosts_of(const PGconn* of) {
    std::vector<std::string> names, addresses, ports;
    const conninfo info = info_of(of);
    for (const PQconninfoOption* each = info.get(); each->keyword != nullptr; ++each) {
        const std::string keyword = each->keyword;
        if (keyword == "host") names = parts_of(each->val);
        if (keyword == "hostaddr") addresses = parts_of(each->val);
        if (keyword == "port") ports = parts_of(each->val);
    }
    const std::size_t count = std::max(names.size(), addresses.size());
    if (count < 2) return {};
    if (ports.empty()) ports.emplace_back();
    if (ports.size() == 1) ports.resize(count, ports.front());
    names.resize(count);
    addresses.resize(count);
    hosts all;
    for (std::size_t at = 0; at < count; ++at) {
        all.push_back({names[at], addresses[at], ports[at].empty() ? usual_port : ports[at]});
    }
    // An option that only some hosts have cannot be given for a part of them: an empty one counts
    // as missing.
    const auto says_as_much = [&](const host& each) {
        return each.name.empty() == names.front().empty() &&
               each.address.empty() == addresses.front().empty();
    };
    return std::ranges::all_of(all, says_as_much) ? all : hosts{};
}

hosts hosts_behind(const hosts& all, const PGconn* asked) {
    const auto at = place_of(all, asked);
    return at == all.end() ? hosts{} : hosts{at + 1, all.end()};
}

void ask_in_turn(std::vector<option>& options, const hosts& these) {
    if (these.empty()) return;
    const auto add = [&](const char* keyword, std::string host::*part) {
        std::string list;
        for (const host& each : these) {
            if (&each != &these.front()) list += ',';
            list += each.*part;
        }
        if (!(these.front().*part).empty()) options.push_back({keyword, list});
    };
    add("host", &host::name);
    add("hostaddr", &host::address);
    add("port", &host::port);
}

local_clock::time_point host_turn::end(const PGconn* asked) {
    const std::size_t behind = hosts_behind(all_, asked).size();
    if (behind != behind_) {
        behind_ = behind;
        const auto now = local_clock::now();
        const auto left = std::max(until_ - now, local_clock::duration{0});
        end_ = now + left / static_cast<local_clock::duration::rep>(behind + 1);
    }
    return end_;
}

hosts host_order::now() const {
    const thread_guard guard{mutex_};
    hosts all = all_;
    const auto first = all.begin() + static_cast<hosts::difference_type>(preferred_);
    if (!all.empty()) std::rotate(all.begin(), first, first + 1);
    return all;
}

void host_order::learn(const hosts& all) {
    const thread_guard guard{mutex_};
    if (all_.empty()) all_ = all;
}

void host_order::note(const PGconn* connected, bool met_silence) {
    const thread_guard guard{mutex_};
    const auto at = place_of(all_, connected);
    if (at == all_.end()) return;
    const auto place = static_cast<std::size_t>(at - all_.begin());
    if (met_silence || place != preferred_) preferred_ = met_silence ? place : 0;
}

}  // namespace leasehold::postgres
