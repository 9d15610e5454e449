#include "driver/postgres_server.hpp"

#include <algorithm>
#include <string>

#include "core/statement_words.hpp"
#include "driver/postgres_errors.hpp"
#include "leasehold/error.hpp"

namespace leasehold::postgres {

server_info server_of(const PGconn* handle) {
    server_info server;
    server.engine = engine::postgres;
    // libpq says 150020 for 15.20; its older three-part form is refused below anyway.
    const int number = PQserverVersion(handle);
    server.version = number / 10000 * 10000 + number % 10000 * 100;
    server.version_text = reported(handle, "server_version");
    if (number != 0 && number < 130000) {
        throw error{
            errc::unsupported,
            address_of(handle) + " is version " + server.version_text +
                "; leasehold needs PostgreSQL 13 or newer"};
    }
    return server;
}

std::string_view reported(const PGconn* by, const char* setting) noexcept {
    const char* const said = PQparameterStatus(by, setting);
    return said == nullptr ? "" : said;
}

std::chrono::milliseconds limit_within_range(std::chrono::milliseconds limit) noexcept {
    using std::chrono::milliseconds;
    return std::clamp(
        limit, milliseconds{1}, milliseconds{2'000'000'000}
    );  // of 2^31 at the server
}

std::chrono::milliseconds head_start(std::chrono::milliseconds limit) noexcept {
    return std::min(limit / 10, std::chrono::milliseconds{500});
}
std::string server_bound(std::chrono::milliseconds limit) {
    const std::chrono::milliseconds bound = limit - head_start(limit);
    return std::to_string(limit_within_range(bound).count());
}

bool may_commit(std::string_view sql) {
    const auto is_end = [](std::string_view statement) {
        const auto words = statement_words(statement, engine::postgres, 1);
        if (words.empty()) return false;
        return words[0] == "COMMIT" || words[0] == "END" || words[0] == "PREPARE";
    };
    if (sql.find(';') == std::string_view::npos) return is_end(sql);
    const auto statements = statements_in(sql, engine::postgres);
    return std::ranges::any_of(statements, is_end);
}

}  // namespace leasehold::postgres
