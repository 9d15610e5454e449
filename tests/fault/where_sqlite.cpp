#include "fault/where.hpp"
#include "leasehold/driver/sqlite.hpp"

namespace leasehold::testing {

std::string url_of(const std::string&, const database& own) {
    transaction tx = own.begin();
    constexpr std::size_t file_column = 2;
    return "sqlite:" + tx.execute("PRAGMA database_list").rows.at(0).text(file_column);
}
std::string program_url_of(const std::string& name, const database& own) {
    return url_of(name, own);
}
database open_at(const std::string& url, database_settings settings) {
    return sqlite::open(url, std::move(settings));
}

}  // namespace leasehold::testing
