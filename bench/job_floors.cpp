// The floor of each workload of jobs, as one would write it by hand.
#include <algorithm>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "bench/hand.hpp"
#include "bench/texts.hpp"
#include "bench/workload.hpp"

namespace leasehold::bench {
namespace {

using std::chrono::milliseconds;
using ids = std::vector<std::int64_t>;

constexpr const char* kind_name = "work";

// Its statements for one floor's table.
class job_table {
public:
    job_table(const place& where, std::string whose)
        : place_(where),
          database_(where.open(1, std::chrono::minutes{1})),
          whose_(std::move(whose)),
          engine_(database_.server().engine) {}

    void make() const {
        for (const char* each : {"drop_jobs", "make_jobs", "index_jobs"}) {
            database_.execute(text(each));
        }
    }
    void empty() const { database_.execute(text("empty_jobs")); }
    void fill(int count) const {
        empty();
        database_.execute(text("fill_jobs"), {count, job_payload(count)});
        database_.execute(text("settle_jobs"));
    }
    std::string text(std::string_view name, std::size_t many = 0) const {
        return text_of(engine_, name, place_.names, whose_, many);
    }
    bool has(std::string_view name) const { return has_text(engine_, name); }
    bool has_arrays() const noexcept { return engine_ == engine::postgres; }

private:
    const place place_;
    const database database_;
    const std::string whose_;
    const engine engine_;
};

std::string array_of(const ids& what) {
    std::string text = "{";
    for (const std::int64_t each : what) {
        if (text.size() > 1) text += ',';
        text += std::to_string(each);
    }
    return text + "}";
}

// Claims and deletes jobs; by one statement for each, or one for both, if the engine has it.
class job_hand {
public:
    job_hand(std::unique_ptr<hand> by, const job_table& table, int index)
        : by_(std::move(by)),
          table_(table),
          who_("worker " + std::to_string(index)),
          claim_(table.text(table.has("claim_jobs") ? "claim_jobs" : "lock_jobs")),
          take_(table.text(table.has("take_jobs") ? "take_jobs" : "lock_jobs")),
          both_(table.has_arrays() ? table.text("delete_and_claim_jobs") : "") {}

    hand& by() const noexcept { return *by_; }

    // Claims in an open transaction, or without one where the claim is one statement.
    ids claim(int most) const {
        if (table_.has("claim_jobs")) return by_->execute(claim_, {who_, most}).ids;
        auto found = by_->execute(claim_, {most}).ids;
        if (!found.empty()) execute("mark_jobs", {who_}, found);
        return found;
    }
    ids claim_by_itself(int most) const {
        if (table_.has("claim_jobs")) return claim(most);
        by_->begin();
        auto found = claim(most);
        by_->commit();
        return found;
    }
    void remove(const ids& what) const {
        if (!what.empty()) execute("delete_jobs", {}, what);
    }
    ids remove_and_claim(const ids& what, int most) const {
        if (table_.has_arrays()) return by_->execute(both_, {who_, most, array_of(what)}).ids;
        by_->begin();
        remove(what);
        auto found = claim(most);
        by_->commit();
        return found;
    }
    // The transaction is left open.
    ids take(int most) const {
        by_->begin();
        auto found = by_->execute(take_, {most}).ids;
        if (!table_.has("take_jobs")) remove(found);
        return found;
    }

private:
    void execute(const char* name, parameters values, const ids& what) const {
        if (table_.has_arrays()) {
            values.emplace_back(array_of(what));
        } else {
            for (const std::int64_t each : what) values.emplace_back(each);
        }
        by_->execute(table_.text(name, what.size()), values);
    }

    std::unique_ptr<hand> by_;
    const job_table& table_;
    std::string who_;
    std::string claim_, take_, both_;
};

enum class way { together, apart, held };

class drain_worker final : public worker {
public:
    drain_worker(job_hand by, int batch, way how) : by_(std::move(by)), batch_(batch), how_(how) {}

    sample operate(const std::stop_token&) override {
        const std::int64_t items = round();
        return {.items = items, .is_over = items == 0};
    }
    void before_round() { claimed_.clear(); }

private:
    std::int64_t round() {
        if (how_ == way::together) {
            claimed_ = by_.remove_and_claim(claimed_, batch_);
            return std::ssize(claimed_);
        }
        const ids found = how_ == way::held ? by_.take(batch_) : by_.claim_by_itself(batch_);
        if (how_ == way::held) {
            by_.by().commit();
        } else {
            by_.remove(found);
        }
        return std::ssize(found);
    }

    const job_hand by_;
    const int batch_;
    const way how_;
    ids claimed_;
};

class job_side : public side {
public:
    job_side(const place& where, const std::string& whose, hand_maker by)
        : place_(where), by_(std::move(by)), table_(where, whose) {}
    void set_up() override { table_.make(); }

protected:
    std::unique_ptr<hand> new_hand() const { return hand_in_turn(by_, place_); }
    const job_table& table() const noexcept { return table_; }

private:
    const place place_;
    const hand_maker by_;
    const job_table table_;
};

class drains final : public job_side {
public:
    drains(const place& where, int batch, const std::string& whose, const hand_maker& by)
        : job_side(where, whose, by),
          batch_(batch),
          how_(
              whose == "apart"  ? way::apart
              : whose == "held" ? way::held
                                : way::together
          ) {}

    void before_round() override {
        for (drain_worker* const each : workers_) each->before_round();
        table().fill(jobs_to_drain(batch_));
    }
    std::unique_ptr<worker> make_worker(int index) override {
        auto made =
            std::make_unique<drain_worker>(job_hand{new_hand(), table(), index}, batch_, how_);
        workers_.push_back(made.get());
        return made;
    }

private:
    const int batch_;
    const way how_;
    std::vector<drain_worker*> workers_;
};

// COPY where the library has it; otherwise INSERTs of a thousand rows, in one transaction.
class enqueue_worker final : public worker {
public:
    enqueue_worker(std::unique_ptr<hand> by, const job_table& table, int batch)
        : by_(std::move(by)), table_(table), batch_(batch) {
        for (int each = 0; each < batch; ++each) payloads_.push_back(job_payload(each));
    }

    sample operate(const std::stop_token&) override {
        if (!table_.has_arrays() || !by_->copy(table_.text("copy_jobs"), lines())) insert();
        return {.items = batch_};
    }

private:
    std::string lines() const {
        std::string text;
        for (const std::string& each : payloads_) {
            text.append(kind_name).append("\t").append(each).append("\n");
        }
        return text;
    }
    void insert() const {
        constexpr std::size_t at_once = 1000;
        by_->begin();
        for (std::size_t first = 0; first < payloads_.size(); first += at_once) {
            const std::size_t count = std::min(at_once, payloads_.size() - first);
            by_->execute(table_.text("insert_jobs", count), values(first, count));
        }
        by_->commit();
    }
    parameters values(std::size_t first, std::size_t count) const {
        parameters all;
        std::string kinds = "{", texts = "{";
        for (std::size_t each = first; each < first + count; ++each) {
            if (table_.has_arrays()) {
                kinds.append(each == first ? "" : ",").append(kind_name);
                texts.append(each == first ? "\"" : ",\"").append(payloads_[each]).append("\"");
            } else {
                all.emplace_back(kind_name);
                all.emplace_back(payloads_[each]);
            }
        }
        if (table_.has_arrays()) all = {kinds + "}", texts + "}"};
        return all;
    }

    const std::unique_ptr<hand> by_;
    const job_table& table_;
    const int batch_;
    std::vector<std::string> payloads_;
};

class enqueuing final : public job_side {
public:
    enqueuing(const place& where, int batch, const std::string& whose, const hand_maker& by)
        : job_side(where, whose, by), batch_(batch) {}

    void before_round() override { table().empty(); }
    std::unique_ptr<worker> make_worker(int) override {
        return std::make_unique<enqueue_worker>(new_hand(), table(), batch_);
    }

private:
    const int batch_;
};

// One enqueues; the other waits for a notification, and claims. If the database has none for
// this hand, it comes from the process: a worker elsewhere would need more.
class start_worker final : public worker {
public:
    start_worker(
        std::unique_ptr<hand> enqueues, std::unique_ptr<hand> works, const job_table& table
    )
        : enqueues_(std::move(enqueues)), works_(std::move(works), table, 0) {
        hears_ = table.has("listen_for_jobs") && works_.by().listen(table.text("listen_for_jobs"));
        insert_ = table.text(hears_ ? "insert_job_and_notify" : "insert_job");
        thread_ = std::jthread{[this](const std::stop_token& stop) { run(stop); }};
    }

    sample operate(const std::stop_token& stop) override {
        std::this_thread::sleep_for(milliseconds{5});
        {
            const std::lock_guard guard{mutex_};
            has_started_ = false;  // by what a round's end has left behind
        }
        const auto before = clock::now();
        enqueues_->execute(insert_, {kind_name, "payload"});
        std::unique_lock guard{mutex_};
        if (!hears_) {
            was_notified_ = true;
            changed_.notify_all();
        }
        if (!changed_.wait(guard, stop, [&] { return has_started_ || failure_; })) {
            return {.is_over = true};
        }
        if (failure_) std::rethrow_exception(failure_);
        return {.took = started_ - before};
    }

private:
    bool wait_for_notification(const std::stop_token& stop) {
        if (hears_) return works_.by().wait_for_notification(milliseconds{50});
        std::unique_lock guard{mutex_};
        return changed_.wait(guard, stop, [&] { return std::exchange(was_notified_, false); });
    }
    void run(const std::stop_token& stop) {
        try {
            while (!stop.stop_requested()) {
                if (!wait_for_notification(stop)) continue;
                const ids found = works_.claim_by_itself(1);
                if (found.empty()) continue;
                {
                    const std::lock_guard guard{mutex_};
                    started_ = clock::now();
                    has_started_ = true;
                }
                changed_.notify_all();
                works_.remove(found);
            }
        } catch (...) {
            const std::lock_guard guard{mutex_};
            failure_ = std::current_exception();
            changed_.notify_all();
        }
    }

    const std::unique_ptr<hand> enqueues_;
    const job_hand works_;
    bool hears_ = false;
    std::string insert_;
    std::mutex mutex_;
    std::condition_variable_any changed_;
    bool was_notified_ = false;
    bool has_started_ = false;
    clock::time_point started_{};
    std::exception_ptr failure_;
    std::jthread thread_;
};

class starts final : public job_side {
public:
    using job_side::job_side;

    std::unique_ptr<worker> make_worker(int) override {
        return std::make_unique<start_worker>(new_hand(), new_hand(), table());
    }
};

}  // namespace

std::unique_ptr<side> make_job_floor(
    const workload& what, const place& where, const std::string& whose, const hand_maker& by
) {
    if (what.what == "job-drain") return std::make_unique<drains>(where, what.batch, whose, by);
    if (what.what == "job-enqueue") {
        return std::make_unique<enqueuing>(where, what.batch, whose, by);
    }
    return std::make_unique<starts>(where, whose, by);
}

}  // namespace leasehold::bench
