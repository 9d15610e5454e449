#pragma once
// A store of holds over another one: tests override what they want to go wrong.
#include <memory>
#include <utility>
#include <vector>

#include "locks/hold_store.hpp"

namespace leasehold::testing {

// Everything as the store below does it.
class passing_hold_store : public hold_store {
public:
    explicit passing_hold_store(std::shared_ptr<hold_store> below) : below_(std::move(below)) {}

    acquire_result try_acquire(connection& on, const acquire_request& wanted) override {
        return below_->try_acquire(on, wanted);
    }
    std::vector<std::optional<fencing_token>> try_acquire_several(
        connection& on, const std::vector<const acquire_request*>& wanted
    ) override {
        return below_->try_acquire_several(on, wanted);
    }
    std::vector<bool> release_several(connection& on, const std::vector<const hold*>& held)
        override {
        return below_->release_several(on, held);
    }
    std::optional<std::vector<fencing_token>> find_grants(
        connection& on, const std::vector<key>& keys, const owner_id& owner
    ) override {
        return below_->find_grants(on, keys, owner);
    }
    std::optional<std::int64_t> reenter(connection& on, const hold& held) override {
        return below_->reenter(on, held);
    }
    release_outcome release(connection& on, const hold& held) override {
        return below_->release(on, held);
    }
    release_outcome release_owner(connection& on, const key& name, const owner_id& owner) override {
        return below_->release_owner(on, name, owner);
    }
    bool prove(connection& inside, const hold& held) override {
        return below_->prove(inside, held);
    }
    std::vector<standing> standings(connection& on, const std::vector<hold>& held) override {
        return below_->standings(on, held);
    }
    std::optional<described_hold> describe(connection& on, const key& name, bool counts_waiters)
        override {
        return below_->describe(on, name, counts_waiters);
    }
    std::vector<lock_info> list(
        connection& on, std::string_view prefix, std::string_view after, int limit
    ) override {
        return below_->list(on, prefix, after, limit);
    }
    std::optional<row_lock_info> find_row_lock(connection& on, const key& name) override {
        return below_->find_row_lock(on, name);
    }
    std::vector<std::string> list_passed(connection& on, std::string_view prefix, int limit)
        override {
        return below_->list_passed(on, prefix, limit);
    }
    std::vector<lock_info> list_free(
        connection& on, std::string_view prefix, std::string_view after, int limit
    ) override {
        return below_->list_free(on, prefix, after, limit);
    }
    std::optional<lock_info> force_release(
        connection& on, const key& name, std::optional<fencing_token> only
    ) override {
        return below_->force_release(on, name, only);
    }
    bool change_kind(connection& on, const key& name, lock_kind to) override {
        return below_->change_kind(on, name, to);
    }
    bool set_metadata(connection& on, const hold& held, const std::optional<std::string>& metadata)
        override {
        return below_->set_metadata(on, held, metadata);
    }
    std::optional<lock_info> request_revoke(connection& on, const key& name) override {
        return below_->request_revoke(on, name);
    }
    bool extend_term(connection& on, const hold& held, std::chrono::microseconds fixed_term)
        override {
        return below_->extend_term(on, held, fixed_term);
    }
    bool give_term(connection& on, const hold& held, std::chrono::microseconds fixed_term)
        override {
        return below_->give_term(on, held, fixed_term);
    }
    adopt_status adopt(connection& on, const adoption& wanted) override {
        return below_->adopt(on, wanted);
    }
    pending_entry enter(connection& inside) override { return below_->enter(inside); }
    bool move(connection& inside, const hold& held, const owner_id& to) override {
        return below_->move(inside, held, to);
    }

private:
    const std::shared_ptr<hold_store> below_;
};

}  // namespace leasehold::testing
