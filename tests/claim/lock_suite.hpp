#pragma once
// The base of suites that take locks beside the user's table: own tables, and two sessions.
#include <optional>

#include "claim/suite.hpp"
#include "leasehold/key.hpp"
#include "leasehold/migrate.hpp"
#include "support/calm.hpp"
#include "support/patient.hpp"

namespace leasehold::testing {

class lock_suite : public claim_suite {
protected:
    void SetUp() override {
        claim_suite::SetUp();
        settings_.names.prefix = fresh_prefix();
        locks_.emplace(way_->open(settings_));
        migrate(*locks_);
        one_.emplace(*locks_, calm("one"));
        two_.emplace(*locks_, calm("two"));
    }
    void TearDown() override {
        two_.reset();
        one_.reset();
        if (locks_) migrate_down(*locks_, 0);
        claim_suite::TearDown();
    }

    database_settings settings_ = patient();
    std::optional<database> locks_;
    std::optional<session> one_, two_;
    const key name_{"k"};
};

}  // namespace leasehold::testing
