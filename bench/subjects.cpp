// leasehold's side of each workload, by its public interface and with its default settings.
#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "bench/board.hpp"
#include "bench/tasks.hpp"
#include "bench/workload.hpp"
#include "leasehold/mutex.hpp"
#include "leasehold/row_claim.hpp"
#include "leasehold/session.hpp"
#include "leasehold/versioned_claim.hpp"

namespace leasehold::bench {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds heartbeat_every{20};

// One handle and one session for all workers of a process.
class subject : public side {
public:
    explicit subject(const place& where, session_settings settings = {.name = "bench"})
        : database_(where.open(where.max_connections, database_settings{}.statement_timeout)),
          settings_(std::move(settings)) {}

protected:
    session& within() {
        if (!session_) session_.emplace(database_, settings_);
        return *session_;
    }
    const database& where() const noexcept { return database_; }
    void hold(const std::string& name, int count) {
        for (int each = 0; each < count; ++each) {
            auto got = mutex{within(), name + "/held/" + std::to_string(each)}.try_acquire();
            if (!got) throw std::runtime_error("a key of our own was refused");
            held_.push_back(*std::move(got));
        }
    }

private:
    database database_;
    const session_settings settings_;
    std::optional<session> session_;
    std::vector<lease> held_;
};

class pair_worker final : public worker {
public:
    pair_worker(session& within, const std::string& key) : mutex_(within, key) {}

    sample operate(const std::stop_token&) override {
        const auto before = clock::now();
        auto got = mutex_.try_acquire();
        const auto between = clock::now();
        if (!got) throw std::runtime_error("a key of our own was refused");
        got->release();
        return {.first = between - before};
    }

private:
    mutex mutex_;
};

class pairs final : public subject {
public:
    pairs(const place& where, int held) : subject(where), held_(held) {}

    std::unique_ptr<worker> make_worker(int index) override {
        const std::string name = "pair/" + std::to_string(index);
        hold(name, std::exchange(held_, 0));
        return std::make_unique<pair_worker>(within(), name);
    }

private:
    int held_;  // by the session, once
};

class idle_worker final : public worker {
public:
    explicit idle_worker(std::int64_t items) : items_(items) {}

    sample operate(const std::stop_token&) override {
        std::this_thread::sleep_for(heartbeat_every);
        return {.items = items_};
    }

private:
    const std::int64_t items_;
};

// The session does the work: one heartbeat in the time of one operation.
class heartbeats final : public subject {
public:
    heartbeats(const place& where, int held)
        : subject(where, {.name = "bench", .heartbeat_every = heartbeat_every}), held_(held) {}

    std::unique_ptr<worker> make_worker(int index) override {
        hold("heartbeat/" + std::to_string(index), std::exchange(held_, 0));
        return std::make_unique<idle_worker>(1);
    }

private:
    int held_;
};

// A session with all defaults, which lives for a second in one operation.
class session_worker final : public worker {
public:
    explicit session_worker(const database& where) : session_(where, {.name = "bench"}) {}

    sample operate(const std::stop_token& stop) override {
        std::mutex mutex;
        std::unique_lock guard{mutex};
        std::condition_variable_any nothing;
        nothing.wait_for(guard, stop, std::chrono::seconds{1}, [] { return false; });
        return {.is_over = stop.stop_requested()};
    }
    bool was_renewed() const { return session_.deadline() > first_deadline_; }

private:
    session session_;
    const local_clock::time_point first_deadline_ = session_.deadline();
};

// Each with a session, and so a connection, of its own.
class sessions final : public side {
public:
    explicit sessions(const place& where)
        : database_(where.open(where.max_connections, database_settings{}.statement_timeout)) {}

    std::unique_ptr<worker> make_worker(int) override {
        auto made = std::make_unique<session_worker>(database_);
        workers_.push_back(made.get());
        return made;
    }
    // The first heartbeat connects.
    void before_round() override {
        for (const session_worker* const each : workers_) {
            while (!each->was_renewed()) std::this_thread::sleep_for(heartbeat_every);
        }
    }

private:
    database database_;
    std::vector<const session_worker*> workers_;
};

class refused_worker final : public worker {
public:
    explicit refused_worker(session& within) : mutex_(within, "refused") {}

    sample operate(const std::stop_token&) override {
        const auto got = mutex_.try_acquire();
        if (got) throw std::runtime_error("a key that is held was granted");
        return {};
    }

private:
    mutex mutex_;
};

class refusals final : public subject {
public:
    explicit refusals(const place& where)
        : subject(where), holder_place_(where.open(1, database_settings{}.statement_timeout)) {}

    void set_up() override {
        holder_.emplace(holder_place_, session_settings{.name = "bench holder"});
        held_.emplace(*mutex{*holder_, "refused"}.try_acquire());
    }
    std::unique_ptr<worker> make_worker(int) override {
        return std::make_unique<refused_worker>(within());
    }

private:
    database holder_place_;
    std::optional<session> holder_;
    std::optional<lease> held_;
};

// Has the key for a moment, again and again; what counts is how long its release takes.
class holding_worker final : public worker {
public:
    explicit holding_worker(session& within) : mutex_(within, "release") {}

    sample operate(const std::stop_token& stop) override {
        auto got = mutex_.try_acquire();
        if (!got) return {.items = 0, .is_over = stop.stop_requested()};
        std::this_thread::sleep_for(std::chrono::milliseconds{1});
        const auto before = clock::now();
        got->release();
        return {.took = clock::now() - before};
    }

private:
    mutex mutex_;
};

class trying_worker final : public worker {
public:
    trying_worker(session& within, std::chrono::nanoseconds every)
        : mutex_(within, "release"), every_(every) {}

    sample operate(const std::stop_token&) override {
        std::this_thread::sleep_until(next_);
        next_ = std::max(next_, clock::now() - std::chrono::milliseconds{10}) + every_;
        if (auto got = mutex_.try_acquire()) got->release();
        return {.items = 0};
    }

private:
    mutex mutex_;
    const std::chrono::nanoseconds every_;
    clock::time_point next_{};
};

// The first worker holds; the others try for its key, or do nothing where it is to have its peace.
class releases final : public subject {
public:
    releases(const place& where, const workload& what, bool is_quiet)
        : subject(where),
          every_(std::chrono::seconds{what.workers - 1} / tries_per_second),
          is_quiet_(is_quiet),
          their_place_(where.open(where.max_connections, database_settings{}.statement_timeout)),
          theirs_(their_place_, {.name = "bench tries"}) {}

    std::unique_ptr<worker> make_worker(int index) override {
        if (index == 0) return std::make_unique<holding_worker>(within());
        if (is_quiet_) return std::make_unique<idle_worker>(0);
        return std::make_unique<trying_worker>(theirs_, every_);
    }

private:
    static constexpr int tries_per_second = 10'000;
    const std::chrono::nanoseconds every_;
    const bool is_quiet_;
    database their_place_;
    session theirs_;
};

class hop_worker final : public worker {
public:
    hop_worker(session& within, board& shared, int index)
        : mutex_(within, "hop"), board_(shared), index_(index) {}

    sample operate(const std::stop_token& stop) override {
        auto got = mutex_.acquire(stop);
        if (!got) return {.is_over = true};
        const auto took = board_.since(index_);
        board_.let_go(index_);
        got->release();
        if (!took) return {.items = 0};
        return {.took = *took};
    }

private:
    mutex mutex_;
    board& board_;
    const int index_;
};

class hops final : public subject {
public:
    explicit hops(const place& where)
        : subject(where), board_(where.board.empty() ? "" : where.board + ".leasehold") {}

    std::unique_ptr<worker> make_worker(int index) override {
        return std::make_unique<hop_worker>(within(), board_, index);
    }
    void before_round() override { board_.wipe(); }

private:
    board board_;
};

class row_claim_worker final : public worker {
public:
    row_claim_worker(const database& where, const task_table& tasks, int batch)
        : database_(where), tasks_(tasks), batch_(batch), claim_(mapping_of(tasks)) {}

    sample operate(const std::stop_token&) override {
        transaction tx = database_.begin();
        const auto found = claim_.claim_some_in(tx, batch_, skip_locked);
        if (!found) return {.is_over = true};
        std::vector<std::int64_t> ids;
        for (const claimed_row& each : found.rows) ids.push_back(each.key.at(0).integer());
        tasks_.finish_locked(tx, ids);
        tx.commit();
        return {.items = static_cast<std::int64_t>(ids.size())};
    }

private:
    static row_mapping mapping_of(const task_table& tasks) {
        return {
            .table = tasks.name(),
            .key = {"id"},
            .columns = {"payload"},
            .where = {{"state", comparison::equal, 0}},
            .order = {"id"}};
    }

    const database& database_;
    const task_table& tasks_;
    const int batch_;
    const row_claim claim_;
};

class versioned_claim_worker final : public worker {
public:
    versioned_claim_worker(const database& where, const task_table& tasks, int batch)
        : database_(where), batch_(batch), claim_(mapping_of(tasks)) {}

    sample operate(const std::stop_token&) override {
        transaction claiming = database_.begin();
        auto rows = claim_.try_claim_some_in(claiming, batch_);
        if (rows.empty()) return {.is_over = true};
        claiming.commit();
        transaction finishing = database_.begin();
        for (const change_outcome each : claim_.finish_in(finishing, rows)) {
            if (each != change_outcome::done) {
                throw std::runtime_error("a claim of our own was lost");
            }
        }
        finishing.commit();
        return {.items = static_cast<std::int64_t>(rows.size())};
    }

private:
    static versioned_mapping mapping_of(const task_table& tasks) {
        return {
            .table = tasks.name(),
            .key = {"id"},
            .version = "version",
            .state = {.column = "state", .from = 0, .to = 1, .done = 2},
            .order = {"id"},
            .claimed_by = "claimed_by",
            .columns = {"payload"}};
    }

    const database& database_;
    const int batch_;
    const versioned_claim claim_;
};

class claims final : public subject {
public:
    claims(const place& at, const workload& what)
        : subject(at), what_(what), tasks_(at, "leasehold", what.batch) {}

    void set_up() override { tasks_.make(); }
    void before_round() override { tasks_.fill(); }
    std::unique_ptr<worker> make_worker(int) override {
        if (what_.what == "row-claim") {
            return std::make_unique<row_claim_worker>(where(), tasks_, what_.batch);
        }
        return std::make_unique<versioned_claim_worker>(where(), tasks_, what_.batch);
    }

private:
    const workload what_;
    task_table tasks_;
};

}  // namespace

std::unique_ptr<side> make_subject(const workload& what, const place& where) {
    if (what.what == "pair") return std::make_unique<pairs>(where, what.held);
    if (what.what == "heartbeat") return std::make_unique<heartbeats>(where, what.held);
    if (what.what == "sessions") return std::make_unique<sessions>(where);
    if (what.what == "release") return std::make_unique<releases>(where, what, false);
    if (what.what == "refused") return std::make_unique<refusals>(where);
    if (what.what == "hop") return std::make_unique<hops>(where);
    if (what.what.ends_with("-claim")) return std::make_unique<claims>(where, what);
    if (what.what.starts_with("job-")) return make_job_subject(what, where);
    return nullptr;
}

std::unique_ptr<side> make_quiet_subject(const workload& what, const place& where) {
    if (what.what != "release") return nullptr;
    return std::make_unique<releases>(where, what, true);
}

}  // namespace leasehold::bench
