// Cleaning up on PostgreSQL.
#include "store/upkeep_store.hpp"
#include "dialect/postgres/list_statement.hpp"
#include "dialect/postgres/stores.hpp"
#include "dialect/postgres/upkeep_texts.hpp"
#include "dialect/sql_text.hpp"
#include "dialect/upkeep_place.hpp"

namespace leasehold::postgres_dialect {
namespace {

namespace texts = upkeep_texts;

class postgres_upkeep_store final : public upkeep_store {
public:
    explicit postgres_upkeep_store(const table_names& names)
        : progress_(fill_in(texts::progress_sql, names)),
          take_turn_(fill_in(texts::take_turn_sql, names)),
          advance_(fill_in(texts::advance_sql, names)),
          looks_{
              fill_in(texts::look_at_locks_sql, names),
              fill_in(text_about(upkeep_task::dead_holders, texts::look_at_dead_sql), names),
              fill_in(text_about(upkeep_task::dead_waiters, texts::look_at_dead_sql), names),
              fill_in(texts::look_at_sessions_sql, names),
              fill_in(texts::look_at_idle_sql, names)},
          clears_{
              list_statement{texts::list_head_sql, texts::free_locks_sql, names},
              removal_of(upkeep_task::dead_holders, "rest", names),
              removal_of(upkeep_task::dead_waiters, "amount", names),
              list_statement{texts::list_head_sql, texts::remove_sessions_sql, names},
              list_statement{texts::list_head_sql, texts::remove_idle_sql, names}} {}

    std::vector<upkeep_progress> progress(connection& on) override {
        return upkeep_progress_of(on.execute(progress_));
    }

    bool take_turn(connection& on, const upkeep_progress& seen, std::chrono::microseconds every)
        override {
        const parameters values{
            static_cast<std::int64_t>(seen.task), seen.turn, microseconds_of(every)};
        return on.execute(take_turn_, values).affected_rows > 0;
    }

    bool advance(connection& on, const upkeep_progress& from, const upkeep_look& look, bool leaves)
        override {
        const parameters values{
            static_cast<std::int64_t>(from.task),
            from.turn,
            blob{look.place},
            leaves && look.oldest ? microseconds_of(*look.oldest) : value{}};
        return on.execute(advance_, values).affected_rows > 0;
    }

    upkeep_look look(
        connection& on,
        upkeep_task task,
        const std::string& place,
        int rows,
        std::chrono::microseconds retention
    ) override {
        auto [key, rest] = split_place(task, place);
        parameters values{blob{std::move(key)}};
        if (task == upkeep_task::dead_holders) values.emplace_back(blob{rest});
        if (task == upkeep_task::dead_waiters) values.emplace_back(ticket_of(rest));
        if (keeps_for_a_while(task)) values.push_back(microseconds_of(retention));
        constexpr std::string_view word = "{rows}";
        std::string text = looks_.at(number_of(task));
        text.replace(text.find(word), word.size(), std::to_string(rows));
        return upkeep_look_of(task, on.execute(text, values), rows);
    }

    std::int64_t clear(
        connection& on,
        upkeep_task task,
        const std::vector<std::string>& places,
        std::chrono::microseconds retention
    ) override {
        const auto values_of = [&](std::size_t at) {
            auto [key, rest] = split_place(task, places[at]);
            const bool has_ticket = task == upkeep_task::dead_waiters;
            const std::int64_t amount = has_ticket ? ticket_of(rest) : retention.count();
            return parameters{blob{std::move(key)}, blob{std::move(rest)}, amount};
        };
        std::int64_t cleared = 0;
        clears_.at(number_of(task)).ask(on, places.size(), values_of, [&](std::size_t, const row&) {
            ++cleared;
        });
        return cleared;
    }

private:
    static list_statement removal_of(
        upkeep_task task, std::string_view asked, const table_names& names
    ) {
        const std::string tail =
            replaced(text_about(task, texts::remove_dead_sql), "{asked}", asked);
        return {texts::list_head_sql, tail, names};
    }
    static std::size_t number_of(upkeep_task task) { return static_cast<std::size_t>(task) - 1; }
    static bool keeps_for_a_while(upkeep_task task) {
        return task == upkeep_task::old_sessions || task == upkeep_task::idle_locks;
    }

    const std::string progress_;
    const std::string take_turn_;
    const std::string advance_;
    const std::array<std::string, 5> looks_;
    const std::array<list_statement, 5> clears_;
};

}  // namespace

std::unique_ptr<upkeep_store> make_upkeep_store(const table_names& names) {
    return std::make_unique<postgres_upkeep_store>(names);
}

}  // namespace leasehold::postgres_dialect
