#include "fault/where.hpp"
#include "leasehold/driver/postgres.hpp"
#include "support/required.hpp"

namespace leasehold::testing {

std::string url_of(const std::string& name, const database&) {
    return require_url(name);
}
std::string program_url_of(const std::string& name, const database&) {
    return require_program_url(name);
}
database open_at(const std::string& url, database_settings settings) {
    return postgres::open(url, std::move(settings));
}

}  // namespace leasehold::testing
