// The floor of each workload, as one would write it by hand.
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <functional>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <system_error>
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
constexpr milliseconds timeout{30'000};

class by_connection final : public hand {
public:
    explicit by_connection(const place& where)
        : database_(where.open(1, timeout)), engine_(database_.server().engine) {}

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

// SQLite lets one write at a time, and has the second one ask again later and later. A program of
// several threads does better: they queue for the file in the process.
class taking_turns final : public hand {
public:
    explicit taking_turns(std::unique_ptr<hand> by) : by_(std::move(by)) {}

    engine which() const override { return by_->which(); }
    answer execute(const std::string& text, const parameters& values) override {
        std::unique_lock<std::mutex> turn;
        if (!turn_.owns_lock()) turn = std::unique_lock{mutex()};
        return or_give_up([&] { return by_->execute(text, values); });
    }
    void begin() override {
        turn_ = std::unique_lock{mutex()};
        or_give_up([&] { by_->begin(); });
    }
    void commit() override {
        or_give_up([&] { by_->commit(); });
        turn_.unlock();
    }

private:
    // After a failed transaction the others are not to wait for its end: there is none.
    template <class Call>
    auto or_give_up(Call call) -> decltype(call()) try {
        return call();
    } catch (...) {
        if (turn_.owns_lock()) turn_.unlock();
        throw;
    }
    static std::mutex& mutex() {
        static std::mutex of_the_process;
        return of_the_process;
    }

    const std::unique_ptr<hand> by_;
    std::unique_lock<std::mutex> turn_;  // of the transaction under way
};

// Keeps out all who have the same file, other processes too. The kernel serves the first one that
// asks, which is mostly the last holder: so that one waits until somebody else has had it.
class file_signal {
public:
    explicit file_signal(const std::string& path)
        : file_(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600)) {}  // NOLINT(*-vararg)
    ~file_signal() { close(file_); }
    file_signal(const file_signal&) = delete;
    file_signal& operator=(const file_signal&) = delete;

    void wait() const { set(LOCK_EX); }
    void send() const { set(LOCK_UN); }

private:
    void set(int what) const {
        if (flock(file_, what) == 0) return;
        throw std::system_error(errno, std::generic_category(), "flock");
    }
    int file_;
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

// One statement, whatever its answer is.
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

// Waits in a queue of the server's own, or of the kernel's for a file.
class hop_worker final : public floor_worker {
public:
    hop_worker(
        std::unique_ptr<hand> by, const place& where, board& shared, const value& key, int index
    )
        : floor_worker(std::move(by)),
          board_(shared),
          index_(index),
          take_(text_of(which(), in_queue() ? "wait_and_take" : "take", where.names)),
          give_(text_of(which(), in_queue() ? "give_and_notify" : "give", where.names)) {
        if (which() == engine::mysql || which() == engine::mariadb) {
            values_ = {where.names.prefix + "hop"};
        } else {
            values_ = {owner_of(index), key};
        }
        const auto channel =
            static_cast<std::int64_t>(std::hash<std::string>{}(where.names.prefix));
        if (which() == engine::postgres) values_.emplace_back(channel);
        if (!in_queue()) signal_.emplace(where.url.substr(where.url.find(':') + 1) + ".signal");
    }

    sample operate(const std::stop_token& stop) override {
        if (signal_) signal_->wait();
        if (by().execute(take_, values_).rows == 0) {
            throw std::runtime_error("who has waited in the queue was refused");
        }
        const auto took = board_.since(index_);
        board_.let_go(index_);
        by().execute(give_, values_);
        if (signal_) {
            signal_->send();
            while (board_.last() == index_ && !stop.stop_requested()) nap();
        }
        if (stop.stop_requested()) return {.is_over = true};
        if (!took) return {.items = 0};
        return {.took = *took};
    }

private:
    bool in_queue() const { return has_text(which(), "wait_and_take"); }
    static void nap() { std::this_thread::sleep_for(std::chrono::microseconds{20}); }

    board& board_;
    const int index_;
    const std::string take_;
    const std::string give_;
    parameters values_;
    std::optional<file_signal> signal_;
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
        auto ids = by().execute(claim_, {batch_}).ids;
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
        // An answer to a refused try takes at least this.
        if (what_.what == "round-trip" || what_.what == "refused") {
            return std::make_unique<statement_worker>(
                by_(place_), place_, "round_trip", parameters{}
            );
        }
        auto by = hand_in_turn(by_, place_);
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
        auto by = hand_in_turn(by_, place_);
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

std::unique_ptr<hand> hand_in_turn(const hand_maker& make, const place& where) {
    auto by = make(where);
    if (by->which() != engine::sqlite) return by;
    return std::make_unique<taking_turns>(std::move(by));
}

std::unique_ptr<side> make_floor(
    const workload& what, const place& where, const std::string& whose, const hand_maker& by
) {
    if (what.what.ends_with("-claim")) return std::make_unique<claims>(where, what, whose, by);
    if (what.what.starts_with("job-")) return make_job_floor(what, where, whose, by);
    return std::make_unique<locks>(where, what, by);
}

}  // namespace leasehold::bench
