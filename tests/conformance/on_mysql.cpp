// The suite on MySQL, at LEASEHOLD_TEST_MYSQL_URL.
#include "conformance/sql_backend.hpp"
#include "leasehold/driver/mysql.hpp"
#include "support/required.hpp"

namespace leasehold::testing {

backend make_backend() {
    const std::string url = require_url("mysql");
    const auto open = [url](database_settings settings) {
        return mysql::open(url, std::move(settings));
    };
    backend made = make_sql_backend("mysql", {"MICROS", "?", "BIGINT"}, open, fresh_prefix());
    const auto own = std::make_shared<database>(open({}));
    made.writes_so_far = [own] {
        transaction tx = own->begin();
        const auto found = tx.execute("SHOW GLOBAL STATUS LIKE 'Innodb_os_log_written'");
        return std::stoll(found.rows.at(0).text(1));
    };
    made.writes_tolerated_per_1000 = 20'000;  // the server's own background writes
    // The wrong server must not pass for the right one.
    if (name_of(own->server().engine) != made.name) throw std::runtime_error("not mysql: " + url);
    return made;
}

}  // namespace leasehold::testing
