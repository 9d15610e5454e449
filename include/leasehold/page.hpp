#pragma once
// A part of a list, and where the next part begins: what list_locks(), list_free_keys() and
// list_jobs() answer. A page is a range of its items.
//
//   leasehold::lock_filter filter{.prefix = "invoices/"};
//   do {
//       const auto some = leasehold::list_free_keys(db, filter);
//       for (const auto& each : some) print(each);
//       filter.after = some.next;
//   } while (filter.after);
//
// Each page is read for itself: an item that appears or goes while a program reads the pages is
// in them or not. No item is in two of them, because its name or number never changes.
//
// Threads: none; it is a value.
#include <cstddef>
#include <optional>
#include <vector>

#include "leasehold/export.hpp"

namespace leasehold {

template <class Item, class Place>
struct page {
    std::vector<Item> items{};
    std::optional<Place> next{};  // `after` of the next page; nullopt: this is the last

    auto begin() const noexcept { return items.begin(); }
    auto end() const noexcept { return items.end(); }
    std::size_t size() const noexcept { return items.size(); }
    bool empty() const noexcept { return items.empty(); }
    const Item& operator[](std::size_t index) const { return items[index]; }
};

}  // namespace leasehold
