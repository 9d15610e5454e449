#pragma once
// The seam between what leasehold promises and how one engine keeps it: the stores of a database.
//
//   const acquire_result said = stores.get<hold_store>().try_acquire(on, request);
//
// A store is a contract, <room>/<name>_store.hpp, and get() makes it at its first use by the
// contract's own make(). No place names all stores, so that a program contains those alone whose
// features it uses.
//
// Thread rule and MUSTs of a store: see each. A store_set is safe.
#include <memory>
#include <utility>

#include "core/one_of_each.hpp"
#include "leasehold/error.hpp"

namespace leasehold {

class sql_dialect;

class store_set {
public:
    // All stores of an engine; src/sql/dialects.hpp has its dialects.
    explicit store_set(std::shared_ptr<const sql_dialect> how) : how_(std::move(how)) {}
    // Those alone that put() is given: the model, which is no server, and has no tables of users.
    store_set() = default;

    // Null if there is no such store.
    template <class Store>
    Store* find() const {
        return made_.get<Store>([this]() -> std::shared_ptr<Store> {
            return how_ ? Store::make(how_) : nullptr;
        });
    }
    template <class Store>
    Store& get() const {
        if (Store* const found = find<Store>()) return *found;
        throw error(errc::unsupported, "the model database has no such store");
    }
    // Replaces what there is, and answers with it: for the model, and for tests.
    template <class Store>
    std::shared_ptr<Store> put(std::shared_ptr<Store> made) {
        return made_.put<Store>(std::move(made));
    }

private:
    const std::shared_ptr<const sql_dialect> how_{};
    mutable one_of_each made_;
};

}  // namespace leasehold
