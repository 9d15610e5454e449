#include "leasehold/inspect.hpp"

#include "core/utf8.hpp"
#include "leasehold/error.hpp"
#include "session/database.hpp"

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

}  // namespace

std::optional<lock_info> describe(const database& db, const key& name) {
    return read(db, [&](connection& on, store& stores) {
        return stores.locks->describe(on, name);
    });
}

std::vector<lock_info> list_locks(const database& db, std::string_view prefix) {
    if (prefix.size() > key::bytes_max || !is_utf8(prefix)) {
        throw error(errc::invalid_argument, "a prefix of keys is UTF-8 of at most 255 bytes");
    }
    return read(db, [&](connection& on, store& stores) {
        std::vector<lock_info> all;
        std::string after;
        while (true) {
            auto page = stores.locks->list(on, prefix, after, page_size);
            const bool is_last = page.size() < page_size;
            if (!page.empty()) after = page.back().key;
            std::move(page.begin(), page.end(), std::back_inserter(all));
            if (is_last) return all;
        }
    });
}

std::vector<session_info> list_sessions(const database& db) {
    return read(db, [&](connection& on, store& stores) { return stores.sessions->list(on); });
}

std::optional<lock_info> force_release(const database& db, const key& name) {
    auto freed = db.inner()->use([&](connection& on, store& stores) {
        return stores.locks->force_release(on, name);
    });
    if (freed) {
        db.inner()->tell({event_kind::released, name.name(), freed->token.number, "freed by force"}
        );
    }
    return freed;
}

}  // namespace leasehold
