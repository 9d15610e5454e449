#include "leasehold/inspect.hpp"

#include <algorithm>
#include <iterator>
#include <span>
#include <string>
#include <tuple>

#include "admin/require_prefix.hpp"
#include "database/database.hpp"
#include "database/read.hpp"
#include "leasehold/error.hpp"
#include "locks/hold_store.hpp"
#include "locks/holder_store.hpp"
#include "session/release.hpp"
#include "session/session_store.hpp"

namespace leasehold {
namespace {

constexpr int page_size = 1000;

// All pages of a list: asks for each with the last entry of the page before, or with none.
template <class Entry, class Ask>
std::vector<Entry> all_pages(Ask&& ask) {
    std::vector<Entry> all;
    while (true) {
        auto page = ask(all.empty() ? nullptr : &all.back());
        const bool is_last = page.size() < page_size;
        std::ranges::move(page, std::back_inserter(all));
        if (is_last) return all;
    }
}

std::vector<lock_info> mutexes(connection& on, store_set& stores, std::string_view prefix) {
    auto all = all_pages<lock_info>([&](const lock_info* after) {
        return stores.get<hold_store>().list(on, prefix, after ? after->key : "", page_size);
    });
    for (lock_info& each : all) each.holders = 1;
    return all;
}

void sort_by_grant(std::vector<lock_info>& all) {
    std::ranges::sort(all, {}, [](const lock_info& each) {
        return std::tie(each.key, each.token);
    });
}

// The entries of keys that several hold, one for each holder, oldest grant first.
std::vector<lock_info> holders(connection& on, store_set& stores, std::string_view prefix) {
    auto all = all_pages<lock_info>([&](const lock_info* after) {
        const std::string last = after ? after->key : "";
        return stores.get<holder_store>().list(
            on, prefix, last, after ? after->owner : std::nullopt, page_size
        );
    });
    sort_by_grant(all);
    return all;
}

// Adds to the entries of one key the numbers that are about all of them.
void add_totals(std::span<lock_info> all, const header_info* header) {
    std::int64_t permits = 0;
    for (const lock_info& each : all) permits += each.permits;
    for (lock_info& each : all) {
        each.holders = static_cast<std::int64_t>(all.size());
        if (each.kind == lock_kind::semaphore) each.permits_in_use = permits;
        if (header == nullptr) continue;
        each.capacity = header->kind == lock_kind::shared_mutex ? 0 : header->capacity;
        each.arrived = header->arrived;
        each.waiters = header->waiting;
    }
}

lock_info without_holder(const header_info& header) {
    lock_info info;
    info.key = header.key;
    info.token = header.token;
    info.node_info = header.node_info;
    info.kind = header.kind;
    add_totals(std::span{&info, 1}, &header);
    info.holders = 0;
    return info;
}

// Both lists are in the order of keys.
void add_totals(std::vector<lock_info>& all, const std::vector<header_info>& headers) {
    auto header = headers.begin();
    for (auto from = all.begin(); from != all.end();) {
        const auto to = std::find_if(from, all.end(), [&](const lock_info& each) {
            return each.key != from->key;
        });
        while (header != headers.end() && header->key < from->key) ++header;
        const bool is_there = header != headers.end() && header->key == from->key;
        add_totals(std::span{from, to}, is_there ? &*header : nullptr);
        from = to;
    }
}

void add_those_without_holder(
    std::vector<lock_info>& all, const std::vector<header_info>& headers
) {
    std::vector<lock_info> more;
    for (const header_info& each : headers) {
        const auto at = std::ranges::lower_bound(all, each.key, {}, &lock_info::key);
        const bool is_held = at != all.end() && at->key == each.key;
        if (!is_held && each.arrived > 0) more.push_back(without_holder(each));
    }
    std::ranges::move(more, std::back_inserter(all));
}

// All three lists are in the order of keys, and so is the result.
std::vector<lock_info> merged(
    std::vector<lock_info> holders,
    const std::vector<header_info>& headers,
    std::vector<lock_info> mutexes
) {
    add_totals(holders, headers);
    add_those_without_holder(holders, headers);
    std::ranges::move(mutexes, std::back_inserter(holders));
    std::ranges::stable_sort(holders, {}, &lock_info::key);
    return holders;
}

std::vector<lock_info> holders_of(connection& on, store_set& stores, const key& name) {
    auto all = stores.get<holder_store>().holders_of(on, name);
    if (all.empty()) return all;
    const auto header = stores.get<holder_store>().header(on, name);
    add_totals(all, header ? &*header : nullptr);
    return all;
}

std::optional<lock_info> mutex_of(connection& on, store_set& stores, const key& name) {
    auto found = stores.get<hold_store>().describe(on, name, true);
    if (!found) return std::nullopt;
    if (found->info.is_held) found->info.holders = 1;
    return std::move(found->info);
}

std::optional<lock_info> freed_mutex(
    database::implementation& with,
    connection& on,
    store_set& stores,
    const key& name,
    std::optional<fencing_token> only
) {
    auto found = stores.get<hold_store>().force_release(on, name, only);
    if (!found) return std::nullopt;
    serve_quietly(with, on, stores, name);
    found->holders = 1;
    return found;
}

std::vector<waiter_info> infos_of(const std::vector<queued_waiter>& queue) {
    std::vector<waiter_info> all;
    all.reserve(queue.size());
    for (const queued_waiter& each : queue) all.push_back(each.info);
    return all;
}

void tell_freed(const database& db, const lock_info& freed) {
    db.inner()->tell(
        {event_kind::released,
         freed.key,
         freed.token.number,
         "freed by force",
         event_reason::forced}
    );
}

// The keys for which one page of three lists is complete: up to the end of the shortest one.
class common_end {
public:
    explicit common_end(std::size_t limit) : limit_(limit) {}

    // The list goes on behind this page, whose last entry is of this key.
    template <class Entry>
    void note(const std::vector<Entry>& list) {
        if (list.size() > limit_ && (!last_ || list.back().key < *last_)) last_ = list.back().key;
    }
    template <class Entry>
    void cut(std::vector<Entry>& list) const {
        if (last_) std::erase_if(list, [&](const Entry& each) { return each.key > *last_; });
    }
    const std::optional<std::string>& last() const noexcept { return last_; }

private:
    std::size_t limit_;
    std::optional<std::string> last_{};
};

// The end of a page of limited size: between two keys, unless the first key has more entries.
std::size_t end_of_page(const std::vector<lock_info>& all, std::size_t limit) {
    if (all.size() <= limit) return all.size();
    std::size_t end = limit;
    while (end > 0 && all[end - 1].key == all[limit].key) --end;
    return end > 0 ? end : limit;
}

void require_valid(const lock_filter& filter) {
    require_prefix(filter.prefix);
    require_prefix(filter.after.value_or(""));
    if (filter.limit < 1 || filter.limit > page_size) {
        throw error(errc::invalid_argument, "a page has 1 to 1,000 entries");
    }
}

lock_page page_of_locks(connection& on, store_set& stores, const lock_filter& filter) {
    const auto& [prefix, from_key, limit] = filter;
    const std::string after = from_key.value_or("");
    // The greatest owner: the page begins behind every owner of that key.
    const auto last_owner = owner_id::from_bytes(std::string(owner_id::size_bytes, '\xff'));
    const auto from = after.empty() ? std::nullopt : std::optional{last_owner};
    auto held = stores.get<hold_store>().list(on, prefix, after, limit + 1);
    for (lock_info& each : held) each.holders = 1;
    auto holders = stores.get<holder_store>().list(on, prefix, after, from, limit + 1);
    auto headers = stores.get<holder_store>().headers(on, prefix, after, limit + 1);
    common_end end{static_cast<std::size_t>(limit)};
    end.note(held);
    end.note(holders);
    end.note(headers);
    if (holders.size() > static_cast<std::size_t>(limit)) {
        // The last key may have more holders than these.
        const std::string name = holders.back().key;
        std::erase_if(holders, [&](const lock_info& each) { return each.key == name; });
        auto rest = stores.get<holder_store>().holders_of(on, key{name});
        std::ranges::move(rest, std::back_inserter(holders));
    }
    end.cut(held);
    end.cut(holders);
    end.cut(headers);
    sort_by_grant(holders);
    lock_page some{merged(std::move(holders), headers, std::move(held)), end.last()};
    const std::size_t size = end_of_page(some.items, static_cast<std::size_t>(limit));
    if (size == some.size()) return some;
    some.items.resize(size);
    some.next = some.items.back().key;
    return some;
}

}  // namespace

std::optional<lock_info> describe(const database& db, const key& name) {
    return read(db, [&](connection& on, store_set& stores) {
        auto found = mutex_of(on, stores, name);
        if (!found || found->is_held) return found;
        auto holders = holders_of(on, stores, name);
        if (!holders.empty()) return std::optional{std::move(holders.front())};
        const auto header = stores.get<holder_store>().header(on, name);
        if (header && header->arrived > 0) return std::optional{without_holder(*header)};
        return found;
    });
}

std::vector<lock_info> list_holders(const database& db, const key& name) {
    return read(db, [&](connection& on, store_set& stores) {
        auto found = mutex_of(on, stores, name);
        if (!found) return std::vector<lock_info>{};
        if (found->is_held) return std::vector{*std::move(found)};
        return holders_of(on, stores, name);
    });
}

std::vector<lock_info> list_locks(const database& db, std::string_view prefix) {
    require_prefix(prefix);
    return read(db, [&](connection& on, store_set& stores) {
        std::vector<lock_info> all = holders(on, stores, prefix);
        const auto headers = all_pages<header_info>([&](const header_info* after) {
            return stores.get<holder_store>().headers(
                on, prefix, after ? after->key : "", page_size
            );
        });
        return merged(std::move(all), headers, mutexes(on, stores, prefix));
    });
}

lock_page list_locks(const database& db, const lock_filter& filter) {
    require_valid(filter);
    return read(db, [&](connection& on, store_set& stores) {
        return page_of_locks(on, stores, filter);
    });
}

lock_counts count_locks(const database& db, std::string_view prefix) {
    require_prefix(prefix);
    return read(db, [&](connection& on, store_set& stores) {
        return stores.get<holder_store>().count(on, prefix);
    });
}

std::vector<waiter_info> list_waiters(const database& db, const key& name) {
    return read(db, [&](connection& on, store_set& stores) {
        const auto queue = all_pages<queued_waiter>([&](const queued_waiter* after) {
            return stores.get<waiter_store>().list(on, name, after ? after->ticket : 0, page_size);
        });
        return infos_of(queue);
    });
}

lock_page list_free_keys(const database& db, const lock_filter& filter) {
    require_valid(filter);
    lock_page some{read(db, [&](connection& on, store_set& stores) {
        return stores.get<hold_store>().list_free(
            on, filter.prefix, filter.after.value_or(""), filter.limit + 1
        );
    })};
    if (some.size() <= static_cast<std::size_t>(filter.limit)) return some;
    some.items.pop_back();
    some.next = some.items.back().key;
    return some;
}

std::vector<waiter_info> list_waiters(const database& db, const waiter_filter& filter) {
    require_prefix(filter.prefix);
    return read(db, [&](connection& on, store_set& stores) {
        const auto queue = all_pages<queued_waiter>([&](const queued_waiter* after) {
            const std::string key = after ? after->info.key : "";
            const std::int64_t ticket = after ? after->ticket : 0;
            return stores.get<waiter_store>().list_all(on, filter.prefix, key, ticket, page_size);
        });
        return infos_of(queue);
    });
}

std::optional<row_lock_info> find_row_lock(const database& db, const key& name) {
    return read(db, [&](connection& on, store_set& stores) {
        return stores.get<hold_store>().find_row_lock(on, name);
    });
}

std::vector<row_lock_info> list_row_locks(const database& db, std::string_view prefix) {
    require_prefix(prefix);
    constexpr int max_looked_at = 100;
    return read(db, [&](connection& on, store_set& stores) {
        std::vector<row_lock_info> all;
        for (const std::string& each :
             stores.get<hold_store>().list_passed(on, prefix, max_looked_at)) {
            auto found = stores.get<hold_store>().find_row_lock(on, key{each});
            if (found) all.push_back(*std::move(found));
        }
        return all;
    });
}

std::vector<session_info> list_sessions(const database& db) {
    return read(db, [&](connection& on, store_set& stores) {
        return stores.get<session_store>().list(on);
    });
}

std::optional<lock_info> request_revoke(const database& db, const key& name) {
    return db.inner()->use([&](connection& on, store_set& stores) {
        return stores.get<hold_store>().request_revoke(on, name);
    });
}

std::optional<lock_info> force_release(const database& db, const key& name) {
    auto freed = db.inner()->use([&](connection& on, store_set& stores) {
        auto found = freed_mutex(*db.inner(), on, stores, name, std::nullopt);
        if (found) return found;
        // Holders do not tell the numbers of arrivals and permits: read the header before freeing
        // it.
        const auto header = stores.get<holder_store>().header(on, name);
        auto holders = stores.get<holder_store>().force_release(on, name);
        add_totals(holders, header ? &*header : nullptr);
        if (!holders.empty()) return std::optional{std::move(holders.front())};
        if (header && header->arrived > 0) found = without_holder(*header);
        return found;
    });
    if (freed) tell_freed(db, *freed);
    return freed;
}

std::optional<lock_info> force_release(const database& db, const key& name, fencing_token only) {
    auto freed = db.inner()->use([&](connection& on, store_set& stores) {
        return freed_mutex(*db.inner(), on, stores, name, only);
    });
    if (freed) tell_freed(db, *freed);
    return freed;
}

}  // namespace leasehold
