#pragma once
// The common parts of the suites of the statements in docs/proofs-from-other-languages.md.
#include <functional>

#include "conformance/job_suite.hpp"
#include "support/documented_proofs.hpp"
#include "support/granted.hpp"

namespace leasehold::testing {

// A command gets these in LEASEHOLD_KEY, LEASEHOLD_OWNER and LEASEHOLD_TOKEN.
struct told_lease {
    std::string key, owner;
    std::int64_t token = 0;

    parameters values() const { return {key, owner, token}; }
};

inline told_lease told_of(const lease& held) {
    return {held.key().name(), held.owner().text(), held.token().number};
}

class proof_statement_suite : public job_suite {
protected:
    // A row, or the error that the page names for a lock that is lost. The caller then rolls back.
    template <class On>
    static bool is_proved(On& inside, const std::string& statement, const parameters& values) {
        try {
            return !inside.execute(statement, values).rows.empty();
        } catch (const error& failure) {
            if (failure.sqlstate() != "LH001") throw;
            return false;
        }
    }
    bool is_proved(const told_lease& which) const {
        transaction tx = first_.begin();
        return is_proved(tx, page_.lock, which.values());
    }
    bool is_proved(const claimed_job& job) const {
        transaction tx = first_.begin();
        return is_proved(tx, page_.job, {job.id, job.token.number});
    }

    // Begins a transaction that has written, as the page asks on SQLite.
    transaction begin_with_a_write() const {
        transaction tx = first_.begin();
        current().increment_counter(transaction_ref{tx}.inside());
        return tx;
    }

    // `try_it` answers whether the successor has it, within seconds if nothing is in the way. It
    // may not have it before `end` has ended the transaction that proved.
    static void expect_kept_out(
        const std::function<bool()>& try_it, const std::function<void()>& end
    ) {
        std::atomic<bool> has_ended = false, is_early = false;
        thread successor{[&] {
            const bool is_had = eventually(try_it, 20s);
            is_early = is_had && !has_ended;
            EXPECT_TRUE(is_had);
        }};
        // Long enough for one that does not wait to be caught; a correct one is not hurt by it.
        EXPECT_FALSE(eventually([&] { return is_early.load(); }, 200ms));
        has_ended = true;
        end();
        successor.join();
        EXPECT_FALSE(is_early);
    }

    // The same of a key, in a call that waits for it.
    template <class Lock>
    static void expect_kept_from(Lock&& successor, const std::function<void()>& end) {
        expect_kept_out([&] { return is_granted(successor.acquire_for(20s)); }, end);
    }

    std::string table(const char* name) const { return first_.settings().names.prefix + name; }
    bool is_on(engine which) const { return first_.server().engine == which; }

    const documented_proofs page_ =
        read_documented_proofs(first_.server().engine, first_.settings().names.prefix);
};

}  // namespace leasehold::testing
