// MySQL and MariaDB: cleaning up. A look is a plain read, which locks nothing; those that it found
// are locked one after the other, where that is possible without waiting, and tested again.
#include <array>
#include <limits>

#include "dialect/mysql/batch.hpp"
#include "dialect/mysql/stores.hpp"
#include "dialect/mysql/upkeep_texts.hpp"
#include "dialect/upkeep_place.hpp"
#include "store/upkeep_store.hpp"

namespace leasehold::mysql_dialect {
namespace {

namespace texts = upkeep_texts;

class mysql_upkeep_store final : public upkeep_store {
public:
    mysql_upkeep_store(const table_names& names, engine which)
        : progress_(statement(texts::progress_text, names, which)),
          take_turn_(statement(texts::take_turn_text, names, which)),
          advance_(statement(texts::advance_text, names, which)),
          lock_mark_(statement(texts::lock_mark_text, names, which)),
          looks_{
              statement(texts::look_at_locks_text, names, which),
              about_dead(upkeep_task::dead_holders, texts::look_at_dead_text, names, which),
              about_dead(upkeep_task::dead_waiters, texts::look_at_dead_text, names, which),
              statement(texts::look_at_sessions_text, names, which),
              statement(texts::look_at_idle_text, names, which)},
          clears_{
              statement(texts::free_lock_text, names, which),
              about_dead(upkeep_task::dead_holders, texts::remove_dead_text, names, which),
              about_dead(upkeep_task::dead_waiters, texts::remove_dead_text, names, which),
              statement(texts::remove_session_text, names, which),
              statement(texts::remove_idle_text, names, which)} {}

    std::vector<upkeep_progress> progress(connection& on) override {
        return upkeep_progress_of(on.execute(progress_));
    }

    bool take_turn(connection& on, const upkeep_progress& seen, std::chrono::microseconds every)
        override {
        const parameters values{number_of(seen.task), seen.turn, as_value(every)};
        return on.execute(take_turn_, values).affected_rows > 0;
    }

    bool advance(connection& on, const upkeep_progress& from, const upkeep_look& look, bool leaves)
        override {
        const std::int64_t is_end = look.place.empty() ? 1 : 0;
        std::int64_t oldest = std::numeric_limits<std::int64_t>::max();
        if (leaves && look.oldest) oldest = look.oldest->count();
        const parameters values{
            is_end,
            is_end,
            oldest,
            is_end,
            oldest,
            blob{look.place},
            number_of(from.task),
            from.turn};
        return on.execute(advance_, values).affected_rows > 0;
    }

    upkeep_look look(
        connection& on,
        upkeep_task task,
        const std::string& place,
        int rows,
        std::chrono::microseconds retention
    ) override {
        const auto [key, rest] = split_place(task, place);
        parameters values;
        if (keeps_for_a_while(task)) values.push_back(as_value(retention));
        values.emplace_back(blob{key});
        if (size_of_rest(task) > 0) {
            values.emplace_back(blob{key});
            values.push_back(rest_of(task, rest));
        }
        values.emplace_back(rows);
        return upkeep_look_of(task, on.execute(looks_.at(index_of(task)), values), rows);
    }

    std::int64_t clear(
        connection& on,
        upkeep_task task,
        const std::vector<std::string>& places,
        std::chrono::microseconds retention
    ) override {
        batch all;
        if (task == upkeep_task::idle_locks) all.add(lock_mark_);
        for (const std::string& each : places) {
            const auto [key, rest] = split_place(task, each);
            parameters row{blob{key}};
            if (size_of_rest(task) > 0) row.push_back(rest_of(task, rest));
            parameters values = row;
            if (keeps_for_a_while(task)) values.push_back(as_value(retention));
            values.insert(values.end(), row.begin(), row.end());
            all.add(clears_.at(index_of(task)), values);
        }
        return despite_deadlocks([&] { return all.send(on); });
    }

private:
    static std::string about_dead(
        upkeep_task task, std::string_view text, const table_names& names, engine which
    ) {
        return statement(text_about(task, text), names, which);
    }
    static std::int64_t number_of(upkeep_task task) { return static_cast<std::int64_t>(task); }
    static std::size_t index_of(upkeep_task task) { return static_cast<std::size_t>(task) - 1; }
    static bool keeps_for_a_while(upkeep_task task) {
        return task == upkeep_task::old_sessions || task == upkeep_task::idle_locks;
    }
    static value rest_of(upkeep_task task, const std::string& rest) {
        if (task == upkeep_task::dead_waiters) return ticket_of(rest);
        return blob{rest};
    }

    const std::string progress_;
    const std::string take_turn_;
    const std::string advance_;
    const std::string lock_mark_;
    const std::array<std::string, 5> looks_;
    const std::array<std::string, 5> clears_;
};

}  // namespace

std::unique_ptr<upkeep_store> make_upkeep_store(const table_names& names, engine which) {
    return std::make_unique<mysql_upkeep_store>(names, which);
}

}  // namespace leasehold::mysql_dialect
