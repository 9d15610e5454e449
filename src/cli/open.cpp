#include "cli/open.hpp"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <mutex>
#include <system_error>
#include <utility>

#include "cli/exit_status.hpp"
#include "cli/output.hpp"
#include "cli/warnings.hpp"
#include "leasehold/error.hpp"
#include "leasehold/open.hpp"

namespace leasehold::cli {

std::string place_of(std::string_view url) {
    if (driver_of(url) == "sqlite") {
        url.remove_prefix(std::string_view{"sqlite:"}.size());
        std::error_code unknown;
        const auto whole = std::filesystem::absolute(url, unknown);
        return "the file " + (unknown ? std::string(url) : whole.lexically_normal().string());
    }
    const auto scheme = url.find("://");
    if (scheme == std::string_view::npos) return "the database of PostgreSQL that it names";
    const auto scheme_end = scheme + 3;
    std::string place{url.substr(0, scheme_end)};
    // The user is removed first, since a password may have a question mark in it.
    std::string_view rest = url.substr(scheme_end);
    const auto user_end = rest.find_first_of("@/");
    if (user_end != std::string_view::npos && rest[user_end] == '@') {
        rest.remove_prefix(user_end + 1);
    }
    return place.append(rest.substr(0, rest.find('?')));
}

namespace {

// While a program is writing the file, its content may be no URL. Then the last good one is used.
url_source url_source_of(const global_options& options) {
    struct said {
        std::mutex guarding;
        std::string url;
    };
    const auto last = std::make_shared<said>();
    last->url = url_of(options);
    return [last, options] {
        const std::lock_guard guard{last->guarding};
        try {
            last->url = url_of(options);
        } catch (const failure&) {
            return last->url;
        }
        return last->url;
    };
}

bool has_password(std::string_view url) {
    const auto scheme = url.find("://");
    if (scheme == std::string_view::npos) return url.find("password=") != std::string_view::npos;
    const std::string_view rest = url.substr(scheme + 3);
    return rest.substr(0, rest.find('@')).find(':') < rest.find('@');
}

// Warns of a file that others may read. The tool uses it nonetheless, unlike ssh, since a user may
// not be able to choose the modes of files on a mounted volume.
void warn_of_readers(const global_options& options, const std::shared_ptr<observer>& told) {
    const auto file = url_file_of(options);
    if (!file || !has_password(url_of(options))) return;
    std::error_code unknown;
    const auto rights = std::filesystem::status(*file, unknown).permissions();
    if (unknown || (rights & std::filesystem::perms::others_read) == std::filesystem::perms::none) {
        return;
    }
    const std::string said = "the file " + *file +
                             " holds a password, and everybody on this machine may read it: give "
                             "it to who runs this, and chmod 600 it";
    told->on_event({event_kind::warning, "", 0, said});
}

}  // namespace

database open_database(
    const global_options& options,
    std::chrono::milliseconds statement_timeout,
    std::optional<std::chrono::milliseconds> timeout,
    std::string name,
    int max_connections,
    std::shared_ptr<observer> also_told
) {
    database_settings settings;
    settings.names.prefix = options.table_prefix;
    settings.names.schema = options.schema;
    settings.wakeup_address = options.wakeup_address;
    settings.requires_standby = options.requires_standby;
    settings.observer = std::make_shared<warnings>(options.is_json);
    warn_of_readers(options, settings.observer);
    if (also_told) {
        settings.observer = std::make_shared<observers>(settings.observer, std::move(also_told));
    }
    settings.max_connections = max_connections;
    settings.statement_timeout = statement_timeout;
    settings.name = std::move(name);
    if (timeout && *timeout > std::chrono::milliseconds{0}) {
        constexpr std::chrono::milliseconds least{1000};
        settings.connect_timeout = std::clamp(*timeout, least, settings.connect_timeout);
    }
    try {
        return open(url_source_of(options), std::move(settings));
    } catch (const error& refused) {
        // No driver was found: another URL is needed, or another build.
        if (refused.code() == errc::unsupported) throw usage_failure(refused.what());
        throw;
    }
}

std::vector<std::string> password_variables(const global_options& options) {
    if (options.passes_url) return {};
    std::vector<std::string> names;
    names.emplace_back("LEASEHOLD_URL");
    const std::string_view engine = driver_of(url_of(options));
    if (engine == "postgres") names.emplace_back("PGPASSWORD");
    if (engine == "mysql") names.emplace_back("MYSQL_PWD");
    return names;
}

std::string names_of_drivers() {
    std::string names = joined(drivers_built_in(), ", ");
    return names.empty() ? "none" : names;
}

}  // namespace leasehold::cli
