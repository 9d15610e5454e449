#include "leasehold/inspect.hpp"

#include <algorithm>
#include <iterator>
#include <tuple>

#include "core/utf8.hpp"
#include "database/database.hpp"
#include "leasehold/error.hpp"
#include "session/release.hpp"
#include "store/hold_store.hpp"
#include "store/holder_store.hpp"
#include "store/session_store.hpp"

namespace leasehold {
namespace {

constexpr int page_size = 1000;

// Reads may be asked again: a connection that broke under one says nothing about the answer.
template <class Use>
auto read(const database& db, Use&& with) {
    try {
        return db.inner()->use(with);
    } catch (const error& failure) {
        if (failure.code() != errc::connection_lost) throw;
    }
    return db.inner()->use(with);
}

std::vector<lock_info> mutexes(connection& on, store& stores, std::string_view prefix) {
    std::vector<lock_info> all;
    std::string after;
    while (true) {
        auto page = stores.holds->list(on, prefix, after, page_size);
        const bool is_last = page.size() < page_size;
        if (!page.empty()) after = page.back().key;
        std::move(page.begin(), page.end(), std::back_inserter(all));
        if (is_last) return all;
    }
}

// Of keys that several hold, one entry for each of them, oldest grant first.
void add_holders(
    connection& on, store& stores, std::string_view prefix, std::vector<lock_info>& all
) {
    const auto first = static_cast<std::ptrdiff_t>(all.size());
    std::string after;
    std::optional<owner_id> after_owner;
    while (true) {
        auto page = stores.holders->list(on, prefix, after, after_owner, page_size);
        const bool is_last = page.size() < page_size;
        if (!page.empty()) {
            after = page.back().key;
            after_owner = page.back().owner;
        }
        std::move(page.begin(), page.end(), std::back_inserter(all));
        if (is_last) break;
    }
    std::sort(all.begin() + first, all.end(), [](const lock_info& left, const lock_info& right) {
        return std::tie(left.key, left.token) < std::tie(right.key, right.token);
    });
    for (auto from = all.begin() + first; from != all.end();) {
        const auto to = std::find_if(from, all.end(), [&](const lock_info& each) {
            return each.key != from->key;
        });
        for (const std::int64_t count = to - from; from != to; ++from) from->holders = count;
    }
}

}  // namespace

std::optional<lock_info> describe(const database& db, const key& name) {
    return read(db, [&](connection& on, store& stores) {
        std::optional<lock_info> found;
        if (auto row = stores.holds->describe(on, name, true)) found = std::move(row->info);
        if (!found || found->is_held) {
            if (found) found->holders = 1;
            return found;
        }
        const auto holders = stores.holders->holders_of(on, name);
        if (holders.empty()) return found;
        found = holders.front();
        found->holders = static_cast<std::int64_t>(holders.size());
        return found;
    });
}

std::vector<lock_info> list_locks(const database& db, std::string_view prefix) {
    if (prefix.size() > key::bytes_max || !is_utf8(prefix)) {
        throw error(errc::invalid_argument, "a prefix of keys is UTF-8 of at most 255 bytes");
    }
    return read(db, [&](connection& on, store& stores) {
        std::vector<lock_info> all = mutexes(on, stores, prefix);
        for (lock_info& each : all) each.holders = 1;
        add_holders(on, stores, prefix, all);
        std::stable_sort(all.begin(), all.end(), [](const lock_info& left, const lock_info& right) {
            return left.key < right.key;
        });
        return all;
    });
}

std::vector<session_info> list_sessions(const database& db) {
    return read(db, [&](connection& on, store& stores) { return stores.sessions->list(on); });
}

std::optional<lock_info> request_revoke(const database& db, const key& name) {
    return db.inner()->use([&](connection& on, store& stores) {
        return stores.holds->request_revoke(on, name);
    });
}

std::optional<lock_info> force_release(const database& db, const key& name) {
    auto freed = db.inner()->use([&](connection& on, store& stores) {
        auto found = stores.holds->force_release(on, name);
        if (found) {
            serve_quietly(*db.inner(), on, stores, name);
            found->holders = 1;
            return found;
        }
        const auto holders = stores.holders->force_release(on, name);
        if (holders.empty()) return found;
        found = holders.front();
        found->holders = static_cast<std::int64_t>(holders.size());
        return found;
    });
    if (freed) {
        db.inner()->tell({event_kind::released, name.name(), freed->token.number, "freed by force"}
        );
    }
    return freed;
}

}  // namespace leasehold
