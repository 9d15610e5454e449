#include "driver/mysql_lent.hpp"

#include <utility>

#include "core/statement_words.hpp"
#include "driver/mysql_settings.hpp"
#include "driver/mysql_text.hpp"
#include "leasehold/error.hpp"

namespace leasehold::mysql {

lent_connection::lent_connection(server_info server, const std::string& place, std::string library)
    : server_(std::move(server)),
      place_(std::string{server_.engine == engine::mariadb ? "MariaDB" : "MySQL"} + " " + place),
      library_(std::move(library)) {}

result lent_connection::execute(std::string_view sql, const parameters& values) {
    require_unbent_once();
    return run(with_literals(sql, values), nullptr);
}

result lent_connection::execute_script(std::string_view sql, const parameters& values) {
    require_unbent_once();
    const std::string text = with_literals(sql, values);
    result found;
    bool is_first = true;
    for (const std::string_view each : statements_in(text, engine::mysql)) {
        bool has_rows = false;
        result said = run(std::string{each}, &has_rows);
        if (has_rows) found.rows = std::move(said.rows);
        if (std::exchange(is_first, false)) found.affected_rows = said.affected_rows;
    }
    return found;
}

void lent_connection::refuse(const char* what) const {
    throw error{
        errc::unsupported, place_ + ": it is " + what + " only by its owner, through " + library_};
}

void lent_connection::require_unbent_once() {
    if (is_unbent_) return;
    require_unbent(place_, run(std::string{lent_question}, nullptr).rows.at(0));
    is_unbent_ = true;
}

}  // namespace leasehold::mysql
