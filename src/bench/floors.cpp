// The floor of each workload: what one would write by hand for it.
#include <functional>
#include <optional>
#include <stdexcept>
#include <thread>
#include <utility>

#include "bench/board.hpp"
#include "bench/hand.hpp"
#include "bench/tasks.hpp"
#include "bench/texts.hpp"
#include "bench/workload.hpp"

namespace leasehold::bench {
namespace {

using std::chrono::milliseconds;

// Longer than anybody waits in a queue of the server's.
constexpr milliseconds patience{30'000};

class by_connection final : public hand {
public:
    explicit by_connection(const place& where)
        : database_(where.open(1, patience)), engine_(database_.server().engine) {}

    engine which() const override { return engine_; }
    answer execute(const std::string& text, const parameters& values) override {
        const result found = tx_ ? tx_->execute(text, values) : database_.execute(text, values);
        answer made{.rows = found.affected_rows};
        if (found.rows.empty()) return made;
        made.rows = std::ssize(found.rows);
        for (const row& each : found.rows) made.ids.push_back(number_in(each.at(0)));
        return made;
    }
    void begin() override { tx_.emplace(database_.begin()); }
    void commit() override {
        tx_->commit();
        tx_.reset();
    }

private:
    static std::int64_t number_in(const value& column) {
        return std::holds_alternative<std::int64_t>(column.held()) ? column.integer() : 0;
    }

    const database database_;
    const engine engine_;
    std::optional<transaction> tx_;
};

// Each worker has a connection of its own, as programs written by hand do.
class floor_worker : public worker {
public:
    explicit floor_worker(std::unique_ptr<hand> by) : by_(std::move(by)), engine_(by_->which()) {}

protected:
    hand& by() const noexcept { return *by_; }
    engine which() const noexcept { return engine_; }

private:
    const std::unique_ptr<hand> by_;
    const engine engine_;
};

// One statement, whatever it answers.
class statement_worker final : public floor_worker {
public:
    statement_worker(
        std::unique_ptr<hand> by, const place& where, std::string_view name, parameters values
    )
        : floor_worker(std::move(by)),
          text_(text_of(which(), name, where.names)),
          values_(std::move(values)) {}

    sample operate(const std::stop_token&) override {
        by().execute(text_, values_);
        return {};
    }

private:
    const std::string text_;
    const parameters values_;
};

value owner_of(int index) {
    blob bytes;
    bytes.bytes.assign(16, '.');
    for (std::size_t at = bytes.bytes.size(); index > 0; index /= 10) {
        bytes.bytes[--at] = static_cast<char>('0' + index % 10);
    }
    return bytes;
}

class pair_worker final : public floor_worker {
public:
    pair_worker(std::unique_ptr<hand> by, const place& where, const value& key, int index)
        : floor_worker(std::move(by)),
          take_(text_of(which(), "take", where.names)),
          give_(text_of(which(), "give", where.names)),
          values_{owner_of(index), key} {}

    sample operate(const std::stop_token&) override {
        const auto before = clock::now();
        const auto taken = by().execute(take_, values_);
        const auto between = clock::now();
        if (taken.rows != 1) throw std::runtime_error("a row of our own was refused");
        by().execute(give_, values_);
        return {.first = between - before};
    }

private:
    const std::string take_;
    const std::string give_;
    const parameters values_;
};

// Waits in a queue of the server's own where there is one, and asks again and again on SQLite.
class hop_worker final : public floor_worker {
public:
    hop_worker(
        std::unique_ptr<hand> by, const place& where, board& shared, const value& key, int index
    )
        : floor_worker(std::move(by)),
          board_(shared),
          index_(index),
          waits_(has_text(which(), "wait_and_take")),
          take_(text_of(which(), waits_ ? "wait_and_take" : "take", where.names)),
          give_(text_of(which(), waits_ ? "give_and_ring" : "give", where.names)) {
        if (which() == engine::mysql || which() == engine::mariadb) {
            values_ = {where.names.prefix + "hop"};
        } else {
            values_ = {owner_of(index), key};
        }
        const auto bell = static_cast<std::int64_t>(std::hash<std::string>{}(where.names.prefix));
        if (which() == engine::postgres) values_.emplace_back(bell);
    }

    sample operate(const std::stop_token& stop) override {
        while (by().execute(take_, values_).rows == 0) {
            if (waits_) throw std::runtime_error("who has waited in the queue was refused");
            if (stop.stop_requested()) return {.is_over = true};
            std::this_thread::sleep_for(std::chrono::microseconds{500});
        }
        const auto took = board_.since(index_);
        board_.let_go(index_);
        by().execute(give_, values_);
        if (stop.stop_requested()) return {.is_over = true};
        if (!took) return {.items = 0};
        return {.took = *took};
    }

private:
    board& board_;
    const int index_;
    const bool waits_;
    const std::string take_;
    const std::string give_;
    parameters values_;
};

// SELECT … FOR UPDATE SKIP LOCKED, UPDATE, COMMIT.
class row_claim_worker final : public floor_worker {
public:
    row_claim_worker(std::unique_ptr<hand> by, const task_table& tasks, int batch)
        : floor_worker(std::move(by)),
          tasks_(tasks),
          batch_(batch),
          lock_(tasks.text("lock_some")) {}

    sample operate(const std::stop_token&) override {
        by().begin();
        const auto ids = by().execute(lock_, {batch_}).ids;
        if (!ids.empty()) {
            by().execute(tasks_.text("finish_locked", ids.size()), tasks_.with_ids({}, ids));
        }
        by().commit();
        return {.items = std::ssize(ids), .is_over = ids.empty()};
    }

private:
    const task_table& tasks_;
    const int batch_;
    const std::string lock_;
};

// UPDATE … RETURNING, then UPDATE: two commits. On MySQL and MariaDB the first is a transaction.
class versioned_claim_worker final : public floor_worker {
public:
    versioned_claim_worker(std::unique_ptr<hand> by, const task_table& tasks, int batch, int index)
        : floor_worker(std::move(by)),
          tasks_(tasks),
          batch_(batch),
          claimant_("worker " + std::to_string(index)),
          returns_(has_text(which(), "claim_some")),
          claim_(tasks.text(returns_ ? "claim_some" : "lock_some")) {}

    sample operate(const std::stop_token&) override {
        const auto ids = returns_ ? by().execute(claim_, {claimant_, batch_}).ids : claim_in_two();
        if (ids.empty()) return {.is_over = true};
        const auto text = tasks_.text("finish_claimed", ids.size());
        if (by().execute(text, tasks_.with_ids({claimant_}, ids)).rows != std::ssize(ids)) {
            throw std::runtime_error("a claim of our own was lost");
        }
        return {.items = std::ssize(ids)};
    }

private:
    std::vector<std::int64_t> claim_in_two() {
        by().begin();
        const auto ids = by().execute(claim_, {batch_}).ids;
        if (!ids.empty()) {
            const auto mark = tasks_.text("mark_claimed", ids.size());
            by().execute(mark, tasks_.with_ids({claimant_}, ids));
        }
        by().commit();
        return ids;
    }

    const task_table& tasks_;
    const int batch_;
    const std::string claimant_;
    const bool returns_;
    const std::string claim_;
};

class locks final : public side {
public:
    locks(const place& where, workload what, hand_maker by)
        : place_(where), what_(std::move(what)), by_(std::move(by)) {}

    void before_round() override { board_.wipe(); }
    std::unique_ptr<worker> make_worker(int index) override {
        auto by = by_(place_);
        // Of a refused try this is the least that could answer it.
        if (what_.what == "round-trip" || what_.what == "refused") {
            return std::make_unique<statement_worker>(
                std::move(by), place_, "round_trip", parameters{}
            );
        }
        const bool is_hot = what_.what == "hop";
        std::string name = what_.what;
        if (!is_hot) name.append("/").append(std::to_string(index));
        const value key = blob{std::move(name)};
        by->execute(text_of(by->which(), "make_key", place_.names), {key});
        if (is_hot) {
            return std::make_unique<hop_worker>(std::move(by), place_, board_, key, index);
        }
        if (what_.what == "pair") {
            return std::make_unique<pair_worker>(std::move(by), place_, key, index);
        }
        return std::make_unique<statement_worker>(std::move(by), place_, "commit", parameters{key});
    }

private:
    const place place_;
    const workload what_;
    const hand_maker by_;
    board board_{place_.board.empty() ? "" : place_.board + ".floor"};
};

class claims final : public side {
public:
    claims(const place& where, workload what, const std::string& whose, hand_maker by)
        : place_(where),
          what_(std::move(what)),
          by_(std::move(by)),
          tasks_(where, whose, what_.batch) {}

    void set_up() override { tasks_.make(); }
    void before_round() override { tasks_.fill(); }
    std::unique_ptr<worker> make_worker(int index) override {
        auto by = by_(place_);
        if (what_.what == "row-claim") {
            return std::make_unique<row_claim_worker>(std::move(by), tasks_, what_.batch);
        }
        return std::make_unique<versioned_claim_worker>(std::move(by), tasks_, what_.batch, index);
    }

private:
    const place place_;
    const workload what_;
    const hand_maker by_;
    task_table tasks_;
};

}  // namespace

std::unique_ptr<hand> make_hand(const place& where) {
    return std::make_unique<by_connection>(where);
}

std::unique_ptr<side> make_floor(
    const workload& what, const place& where, const std::string& whose, const hand_maker& by
) {
    if (what.what.ends_with("-claim")) return std::make_unique<claims>(where, what, whose, by);
    return std::make_unique<locks>(where, what, by);
}

}  // namespace leasehold::bench
