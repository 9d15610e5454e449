#include "cli/exit_status.hpp"

#include <nlohmann/json.hpp>
#include <utility>

namespace leasehold::cli {

const char* const exit_status_help =
    "Exit status:\n"
    "  0      done; of `lock` and `once`: whatever CMD exits with (128 + n if signal n ended it)\n"
    "  64     wrong usage: an option, key, duration or URL that cannot be, or no URL at all\n"
    "  69     the database cannot be reached, or does not answer in time\n"
    "  70     the database refused: rights, a read-only file or server, anything else\n"
    "  75     not acquired: somebody else holds the key; of `once`: somebody else has run it\n"
    "  76     the lease was lost and CMD was stopped, or the lease ended before CMD did; of "
    "`once`:\n"
    "         or CMD took too long for --at-most and was stopped\n"
    "  78     leasehold's tables are missing, of another version, or stand under another name: "
    "see\n"
    "         `leasehold migrate`\n"
    "  126    CMD was found but may not be run\n"
    "  127    CMD was not found\n"
    "  128+n  signal n ended CMD, or ended the wait for the key\n"
    "75 and 76 may be CMD's own, too: --busy-status and --lost-status say others instead.\n";

int exit_status_of(errc code) noexcept {
    switch (code) {
        case errc::invalid_argument:
            return exit_status::usage;
        case errc::connection_failed:
        case errc::connection_lost:
        case errc::timed_out:
        case errc::transient:
        case errc::session_lost:
            return exit_status::unreachable;
        case errc::schema_missing:
        case errc::schema_mismatch:
            return exit_status::schema;
        case errc::lease_lost:
            return exit_status::lease_lost;
        case errc::busy:
        case errc::would_deadlock:
            return exit_status::not_acquired;
        case errc::constraint:
        case errc::permission_denied:
        case errc::read_only:
        case errc::wrong_transaction:
        case errc::unsupported:
        case errc::database_error:
            break;
    }
    return exit_status::failed;
}

nlohmann::json failure::fields() const {
    return fields_ ? *fields_ : nlohmann::json::object();
}

failure failure::with(nlohmann::json fields) && {
    fields_ = std::make_shared<const nlohmann::json>(std::move(fields));
    return std::move(*this);
}

failure failure::with(int status) && {
    status_ = status;
    return std::move(*this);
}

failure usage_failure(const std::string& message) {
    return failure{exit_status::usage, name_of(errc::invalid_argument), message};
}

failure failure_of(const error& what) {
    std::string message = what.what();
    if (what.code() == errc::session_lost) {
        message =
            "the session of this command has ended: the database was out of reach for longer than "
            "--ttl, or somebody ended it; run it again";
    }
    // The library has no better words than the server's here.
    const bool is_opaque = what.code() == errc::database_error;
    if (is_opaque && message.find(what.server_message()) == std::string::npos) {
        message += "; the server says: " + what.server_message();
    }
    return {exit_status_of(what.code()), name_of(what.code()), message};
}

}  // namespace leasehold::cli
