// Random histories of claims and changes of many rows, compared with what the promises say; and the
// same with a mistake planted in the statements, which the comparison has to find.
#include <algorithm>
#include <iostream>
#include <map>
#include <random>
#include <set>

#include "claim/suite.hpp"

namespace leasehold::testing {
namespace {

// Sends some words instead of others.
class bent final : public connection {
public:
    bent(connection& inside, std::string wanted, std::string sent)
        : inside_(inside), wanted_(std::move(wanted)), sent_(std::move(sent)) {}

    const server_info& server() const noexcept override { return inside_.server(); }
    connection_state state() noexcept override { return inside_.state(); }
    result execute(std::string_view sql, const parameters& values) override {
        std::string text{sql};
        for (std::size_t at = 0; !wanted_.empty(); at += sent_.size()) {
            at = text.find(wanted_, at);
            if (at == std::string::npos) break;
            text.replace(at, wanted_.size(), sent_);
        }
        return inside_.execute(text, values);
    }
    result execute_script(std::string_view sql, const parameters& values) override {
        return inside_.execute_script(sql, values);
    }
    void begin() override { inside_.begin(); }
    void commit() override { inside_.commit(); }
    void rollback() noexcept override { inside_.rollback(); }
    void set_statement_timeout(std::chrono::milliseconds limit) override {
        inside_.set_statement_timeout(limit);
    }

private:
    connection& inside_;
    const std::string wanted_, sent_;
};

struct seat {
    std::string status = "free";
    std::int64_t version = 1;
    std::string buyer{};
    bool has_term = false;
    bool is_late = false;

    bool operator==(const seat&) const = default;
    bool is_available() const {
        return status == "free" || (status == "taken" && has_term && is_late);
    }
};

class claim_history_suite : public claim_suite {
protected:
    static constexpr int ids_most = 12;
    static constexpr int steps_most = 120;

    // Looks in many histories with a mistake; mostly the first one finds it.
    std::string found_in_many(const std::string& wanted, const std::string& sent) {
        constexpr unsigned histories_most = 20;
        for (unsigned number = 0; number < histories_most; ++number) {
            const std::string found = differs(number, wanted, sent);
            if (!found.empty()) return "history " + std::to_string(number) + ", " + found;
        }
        return "";
    }

    // The first fault, or nothing.
    std::string differs(
        unsigned number, const std::string& wanted = "", const std::string& sent = ""
    ) {
        std::mt19937 random{static_cast<std::mt19937::result_type>(seed() + number)};
        std::map<std::int64_t, seat> seats;
        define("DELETE FROM " + table_);
        std::vector<versioned_row> held;
        versioned_mapping mapping = leased_seats();
        mapping.busy_timeout = 0ms;
        const versioned_claim claims{mapping};
        for (int step = 0; step < steps_most; ++step) {
            meddle(random, seats);
            const std::set<std::int64_t> locked = some_ids(random);
            std::unique_ptr<lent> other;
            if (has_row_locks() && random() % 3 == 0 && !locked.empty()) {
                other = begin();
                for (const auto id : locked) {
                    other->run(
                        "UPDATE " + table_ + " SET note = 'x' WHERE id = " + std::to_string(id)
                    );
                }
            }
            const auto is_locked = [&](std::int64_t id) { return other && locked.contains(id); };
            const auto before = seats;
            const auto tx = begin();
            bent inside{tx->ref().inside(), wanted, sent};
            std::string problem;
            const bool claims_now = held.empty() || random() % 3 == 0;
            problem = claims_now ? claim(random, claims, inside, seats, held, is_locked)
                                 : change(random, claims, inside, seats, held, is_locked);
            if (random() % 4 == 0) {
                tx->rollback();
                seats = before;
            } else {
                tx->commit();
            }
            if (other) other->rollback();
            if (problem.empty()) problem = compared(seats);
            if (!problem.empty()) return "step " + std::to_string(step) + ": " + problem;
        }
        return "";
    }

private:
    using locked_by_other = std::function<bool(std::int64_t)>;

    static std::set<std::int64_t> some_ids(std::mt19937& random) {
        std::set<std::int64_t> ids;
        for (int count = static_cast<int>(random() % 4); count > 0; --count) {
            ids.insert(1 + static_cast<std::int64_t>(random() % ids_most));
        }
        return ids;
    }

    // Does what other programs do: a term passes, a version goes on, a row goes or comes.
    void meddle(std::mt19937& random, std::map<std::int64_t, seat>& seats) {
        for (const auto id : some_ids(random)) {
            const std::string where = " WHERE id = " + std::to_string(id);
            if (!seats.contains(id)) {
                define(
                    "INSERT INTO " + table_ + " (id, status, event, version, note) VALUES (" +
                    std::to_string(id) + ", 'free', 0, 1, '')"
                );
                seats[id] = {};
            } else if (random() % 6 == 0) {
                define("DELETE FROM " + table_ + where);
                seats.erase(id);
            } else if (random() % 3 == 0) {
                define("UPDATE " + table_ + " SET version = version + 1" + where);
                ++seats[id].version;
            } else if (seats[id].has_term) {
                expire(static_cast<int>(id));
                seats[id].is_late = true;
            }
        }
    }

    std::string claim(
        std::mt19937& random,
        const versioned_claim& claims,
        connection& inside,
        std::map<std::int64_t, seat>& seats,
        std::vector<versioned_row>& held,
        const locked_by_other& is_locked
    ) {
        claim_choice choice;
        if (random() % 2 == 0) choice.candidates = candidate_order::ordered;
        const auto count = 1 + random() % 5;
        std::vector<std::int64_t> there;
        std::size_t in_the_way = 0;
        for (const auto& [id, each] : seats) {
            if (!each.is_available()) continue;
            is_locked(id) ? static_cast<void>(++in_the_way) : there.push_back(id);
        }
        const auto got = claims.try_claim_some_in(inside, static_cast<int>(count), choice);
        const auto most = std::min<std::size_t>(count, there.size());
        auto least = most;
        if (is_mysql() && choice.candidates == candidate_order::shuffled) {
            // A crowded claim looks at twice as many rows as are wanted, gets those that nobody has
            // locked, and gets one at least.
            const std::size_t looked_at = 2 * count;
            least = std::min(most, std::max<std::size_t>(looked_at, in_the_way + 1) - in_the_way);
        }
        if (got.size() < least || got.size() > most) return "a claim of too few";
        there.resize(got.size());
        if (choice.candidates == candidate_order::ordered && ids_of(got) != there) {
            return "a claim of others than the first";
        }
        for (const versioned_row& each : got) {
            const auto id = each.key.at(0).integer();
            if (!seats.contains(id) || !seats[id].is_available() || is_locked(id)) {
                return "a claim of what was not to be had";
            }
            seat& mine = seats[id];
            mine = {"taken", mine.version + 1, each.claimed_as, true, false};
            if (each.version != mine.version) return "a claim at another version";
            held.push_back(each);
        }
        return "";
    }

    static std::string change(
        std::mt19937& random,
        const versioned_claim& claims,
        connection& inside,
        std::map<std::int64_t, seat>& seats,
        std::vector<versioned_row>& held,
        const locked_by_other& is_locked
    ) {
        const auto what = random() % 3;
        std::shuffle(held.begin(), held.end(), random);
        // Those released and finished too, where they can be said.
        std::vector<versioned_row> rows;
        for (const versioned_row& each : held) {
            if (each.is_claimed && rows.size() < 6) rows.push_back(each);
        }
        if (!rows.empty() && random() % 4 == 0) rows.push_back(rows.front());
        const auto before = rows;
        const auto said = what == 0   ? claims.update_in(inside, rows)
                          : what == 1 ? claims.finish_in(inside, rows)
                                      : claims.release_in(inside, rows);
        std::set<std::int64_t> changed;
        for (std::size_t at = 0; at < rows.size(); ++at) {
            const auto id = rows[at].key.at(0).integer();
            const bool is_mine = seats.contains(id) && !changed.contains(id) &&
                                 seats[id].version == before[at].version &&
                                 seats[id].buyer == before[at].claimed_as &&
                                 !(seats[id].has_term && seats[id].is_late);
            const auto expected = !is_mine        ? change_outcome::lost
                                  : is_locked(id) ? change_outcome::busy
                                                  : change_outcome::done;
            if (said[at] != expected) {
                return "row " + std::to_string(id) + " is " +
                       std::to_string(static_cast<int>(said[at])) + " and not " +
                       std::to_string(static_cast<int>(expected));
            }
            if (expected != change_outcome::done) continue;
            changed.insert(id);
            seat& mine = seats[id];
            ++mine.version;
            if (what == 0) mine.has_term = true;
            if (what == 1) mine = {"sold", mine.version, mine.buyer, false, false};
            if (what == 2) mine = {"free", mine.version, "", false, false};
            if (rows[at].version != mine.version) return "a row at another version";
        }
        for (const versioned_row& each : rows) held.push_back(each);
        if (held.size() > 40) held.erase(held.begin(), held.end() - 40);
        return "";
    }

    std::string compared(const std::map<std::int64_t, seat>& seats) {
        std::map<std::int64_t, seat> found;
        const std::string now = is_postgres() ? "clock_timestamp()"
                                : is_mysql()  ? "SYSDATE(6)"
                                              : "strftime('%Y-%m-%d %H:%M:%f', 'now')";
        const result all = define(
            "SELECT id, status, version, coalesce(buyer, ''), "
            "CASE WHEN expires_at IS NULL THEN 0 ELSE 1 END, "
            "CASE WHEN expires_at <= " +
            now + " THEN 1 ELSE 0 END FROM " + table_
        );
        for (const row& each : all.rows) {
            found[each.integer(0)] = {
                each.text(1),
                each.integer(2),
                each.text(3),
                each.integer(4) == 1,
                each.integer(5) == 1};
        }
        for (const auto& [id, each] : seats) {
            if (found.contains(id) && found[id] == each) continue;
            const seat& is = found[id];
            return "row " + std::to_string(id) + " is " + is.status + "/" +
                   std::to_string(is.version) + " by '" + is.buyer + "' and not " + each.status +
                   "/" + std::to_string(each.version) + " by '" + each.buyer + "'";
        }
        return found.size() == seats.size() ? "" : "a row too many";
    }
};

TEST_P(claim_history_suite, is_what_the_promises_say) {
    EXPECT_EQ(differs(0), "");
}

TEST_P(claim_history_suite, shows_a_version_that_is_not_compared) {
    const std::string found = is_postgres()
                                  ? found_in_many("\"version\" = g.v", "\"version\" >= g.v - 9")
                                  : found_in_many("t.`version` = ?", "t.`version` >= ? - 9");
    EXPECT_NE(found, "");
    std::cout << found << '\n';
}

TEST_P(claim_history_suite, shows_a_claimant_that_is_not_compared) {
    const std::string found =
        is_postgres() ? found_in_many("= g.who", "<> g.who || 'x'")
        : is_mysql()
            ? found_in_many(" = CAST(CONVERT(? USING", " <> CAST(CONVERT(CONCAT(?, 'x') USING")
            : found_in_many("= ? COLLATE BINARY", "<> ? || 'x' COLLATE BINARY");
    EXPECT_NE(found, "");
    std::cout << found << '\n';
}

TEST_P(claim_history_suite, shows_a_term_that_is_not_heeded) {
    const std::string found =
        is_postgres()
            ? found_in_many("\"expires_at\" > clock_timestamp()", "\"expires_at\" IS NOT NULL")
        : is_mysql()
            ? found_in_many("`expires_at` > SYSDATE(6)", "`expires_at` IS NOT NULL")
            : found_in_many("`expires_at` > strftime", "`expires_at` < '9' OR '1' > strftime");
    EXPECT_NE(found, "");
    std::cout << found << '\n';
}

INSTANTIATE_TEST_SUITE_P(
    on,
    claim_history_suite,
    ::testing::ValuesIn(way_names()),
    [](const auto& each) { return each.param; }
);

}  // namespace
}  // namespace leasehold::testing
