#pragma once
// The tools of all duties of one worker: its history, its database and its session.
//
// Threads: one.
#include <cstdint>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>

#include "leasehold/leasehold.hpp"
#include "soak/history.hpp"
#include "soak/signals.hpp"
#include "soak/tables.hpp"

namespace leasehold::soak {

struct worker_settings {
    int worker = 0;
    int process = 0;
    std::uint64_t seed = 0;
    std::string folder;
    std::string prefix;
    std::string url;
    std::string plant;  // a bug, to show that the checkers see it
};

class workplace {
public:
    explicit workplace(worker_settings given);

    const worker_settings& given() const noexcept { return given_; }
    bool has_plant(const char* which) const { return given_.plant == which; }
    bool is_over() { return page_.is_over(); }
    const leasehold::database& database() const noexcept { return database_; }
    const soak::tables& tables() const noexcept { return tables_; }

    // A live one, opened where there is none. False: it cannot be had just now.
    bool has_session();
    leasehold::session& session() { return *session_; }

    int between(int least, int most) {
        return std::uniform_int_distribution<int>(least, most)(random_);
    }
    bool one_in(int count) { return between(1, count) == 1; }

    std::int64_t next_id() noexcept { return history_.next_id(); }
    void write(record what);
    // Any thread may call this.
    void note_answer() { ++page_.operations(); }
    void note_handlers(int by) {
        page_.jobs_of(given_.worker).fetch_add(static_cast<std::uint32_t>(by));
    }
    // Runs `work`, which answers with ok or fail, between an invoke and its outcome.
    template <class Work>
    phase step(record what, Work&& work) {
        what.id = next_id();
        what.when = phase::invoke;
        write(what);
        what.until_ns = 0;
        try {
            what.when = work(what);
        } catch (const error& failure) {
            note_failure(what, failure);
        }
        write(what);
        return what.when;
    }
    static void note_failure(record& what, const error& failure);

    // Stays where it is for so long, where faults are aimed at.
    void stay(place where, int least_ms, int most_ms, const std::stop_token& until = {});
    void linger_in_transaction() { stay(place::in_transaction, 2, 6); }

private:
    const worker_settings given_;
    history_writer history_;
    signal_page page_;
    const soak::tables tables_;
    const leasehold::database database_;
    std::mt19937_64 random_;
    std::optional<leasehold::session> session_;
};

// The work of a worker, one thing at a time.
class duty {
public:
    virtual ~duty() = default;
    virtual void run() = 0;
};

// Alone: a list and a counter under proof, a row without; now and then somebody frees it by force.
std::unique_ptr<duty> mutex_duty(workplace& at);
// Several keys of the last ones at once.
std::unique_ptr<duty> set_duty(workplace& at);
std::unique_ptr<duty> shared_duty(workplace& at);
std::unique_ptr<duty> permits_duty(workplace& at);
std::unique_ptr<duty> task_duty(workplace& at);
std::unique_ptr<duty> row_duty(workplace& at);
std::unique_ptr<duty> job_duty(workplace& at);

}  // namespace leasehold::soak
