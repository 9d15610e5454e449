#include "admin/sql_installations.hpp"

#include "sql/statements.hpp"

namespace leasehold {

std::vector<installation> installations_in(connection& on, const table_names& ours) {
    std::vector<installation> found;
    const engine which = on.server().engine;
    if (which == engine::memory) return found;
    const statements texts{which, "installations", ours};
    const statement& what = texts["find"];
    const result said = on.execute(what.text(), what.placed({ours.prefix, ours.schema}));
    for (const row& each : said.rows) {
        found.push_back({{each.text(1), each.text(0)}, each.integer(2) == 1});
    }
    return found;
}

}  // namespace leasehold
