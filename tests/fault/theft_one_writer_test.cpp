// The remains of the three thefts where there is one writer (SQLite): a taker that looked, waited
// for the write lock, and acts on what it had seen. A renewal cannot commit while a taker waits
// unless it is what the taker waits for, so thefts a and c are one race here; b is the same with a
// session that did not exist when the taker looked.
//
// "It waits" means here: it has asked for the write lock, which this test holds.
#include <future>

#include "conformance/suite.hpp"
#include "core/hexadecimal.hpp"
#include "database/database.hpp"
#include "fault/traffic.hpp"
#include "leasehold/once.hpp"

namespace leasehold::testing {
namespace {

std::string literal(const std::string& bytes) {
    return "x'" + in_hexadecimal(bytes) + "'";
}

class theft_one_writer : public suite {
protected:
    using take = std::function<bool(const key&)>;

    // A look, and then a change that relies on it.
    take careless() {
        return [this](const key& name) {
            const auto seen = describe(rivals_, name);
            if (!seen || seen->is_held) return false;
            lent_connection on{rivals_.inner()->connections()};
            const std::string change =
                "UPDATE " + prefix_ +
                "lock SET fence = fence + 1, owner = " + literal(owner_id::random().bytes()) +
                ", session_id = " + literal(rival_.id().bytes()) +
                ", reentrant_count = 1 WHERE lock_key = " + literal(name.name());
            return on->execute(change).affected_rows == 1;
        };
    }
    take library() {
        return [this](const key& name) {
            auto got = mutex{rival_, name}.try_acquire();
            return static_cast<bool>(got);
        };
    }

    std::future<bool> start(const take& taker, const key& name) {
        const auto before = traffic_->statements().size();
        auto answer = std::async(std::launch::async, taker, name);
        EXPECT_TRUE(eventually([&] {
            const auto all = traffic_->statements();
            if (traffic_->calls_under_way() == 0) return false;
            for (std::size_t at = before; at < all.size(); ++at) {
                const bool writes =
                    all[at].text == "BEGIN" || all[at].text.find("UPDATE") != std::string::npos;
                if (writes) return true;
            }
            return false;
        })) << "the taker did not ask for the write lock";
        return answer;
    }

    bool takes_during_a_renewal(const take& taker) {
        const key name = fresh("a");
        session holder{first_, calm("holder")};
        auto held = mutex{holder, name}.try_acquire();
        expire(holder);
        transaction renewal = first_.begin();
        renewal.execute(
            "UPDATE " + prefix_ + "session SET expires_at = expires_at + 14400000000 WHERE id = " +
            literal(holder.id().bytes())
        );
        auto answer = start(taker, name);
        renewal.commit();
        const bool is_taken = answer.get();
        EXPECT_EQ(held->verify(), !is_taken);
        return is_taken;
    }

    bool takes_from_a_newcomer(const take& taker) {
        const key name = fresh("b");
        session once{first_, calm("once")};
        EXPECT_TRUE(mutex(once, name).try_acquire());  // and released: the row is there
        const session_id newcomer = session_id::random();
        transaction grant = first_.begin();
        auto answer = start(taker, name);
        grant.execute(
            "INSERT INTO " + prefix_ +
            "session (id, node_info, started_at, heartbeat_at, expires_at, notices) SELECT " +
            literal(newcomer.bytes()) +
            ", 'newcomer', started_at, heartbeat_at, expires_at, 0 FROM " + prefix_ +
            "session WHERE id = " + literal(once.id().bytes())
        );
        grant.execute(
            "UPDATE " + prefix_ + "lock SET fence = fence + 1, reentrant_count = 1, owner = " +
            literal(owner_id::random().bytes()) + ", session_id = " + literal(newcomer.bytes()) +
            " WHERE lock_key = " + literal(name.name())
        );
        grant.commit();
        const bool is_taken = answer.get();
        EXPECT_EQ(describe(first_, name)->session == newcomer, !is_taken);
        return is_taken;
    }

    const std::string prefix_ = first_.settings().names.prefix;
    const std::shared_ptr<traffic> traffic_ = std::make_shared<traffic>();
    database rivals_ = watched(second_, traffic_, [](connection&) { return 0; });
    session rival_{rivals_, calm("rival")};
};

TEST_F(theft_one_writer, theft_a_and_c_a_renewal_in_flight_is_invisible_to_a_look) {
    EXPECT_TRUE(takes_during_a_renewal(careless()));
    EXPECT_FALSE(takes_during_a_renewal(library()));
}

TEST_F(theft_one_writer, theft_b_a_session_younger_than_the_look_looks_dead) {
    EXPECT_TRUE(takes_from_a_newcomer(careless()));
    EXPECT_FALSE(takes_from_a_newcomer(library()));
}

}  // namespace
}  // namespace leasehold::testing
