#include "bench/tasks.hpp"

#include <utility>

#include "bench/texts.hpp"

namespace leasehold::bench {
namespace {

// Enough for a second. A round that has claimed them all ends with that.
std::int64_t rows_for(int batch) {
    return batch == 1 ? 6'000 : batch < 50 ? 30'000 : 60'000;
}

}  // namespace

task_table::task_table(const place& where, std::string whose, int batch)
    : database_(where.open(1, std::chrono::minutes{1})),
      names_(where.names),
      whose_(std::move(whose)),
      rows_(rows_for(batch)),
      engine_(database_.server().engine) {}

void task_table::make() {
    for (const char* each : {"drop_tasks", "make_tasks", "index_tasks"}) {
        database_.execute(text(each));
    }
}

void task_table::fill() {
    database_.execute(text("empty_tasks"));
    database_.execute(text("fill_tasks"), {rows_});
    database_.execute(text("settle_tasks"));
}

qualified_name task_table::name() const {
    return {names_.prefix + "task_" + whose_, names_.schema};
}

std::string task_table::text(std::string_view statement, std::size_t ids) const {
    return text_of(engine_, statement, names_, whose_, ids);
}

void task_table::finish_locked(transaction& tx, const std::vector<std::int64_t>& ids) const {
    tx.execute(text("finish_locked", ids.size()), with_ids({}, ids));
}

parameters task_table::with_ids(parameters before, const std::vector<std::int64_t>& ids) const {
    if (engine_ != engine::postgres) {
        for (const std::int64_t each : ids) before.emplace_back(each);
        return before;
    }
    std::string array = "{";
    for (const std::int64_t each : ids) {
        if (array.size() > 1) array += ',';
        array += std::to_string(each);
    }
    before.emplace_back(array + "}");
    return before;
}

}  // namespace leasehold::bench
