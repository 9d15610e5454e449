#include "core/error.hpp"

#include <utility>

#include "core/outcome.hpp"
#include "core/utf8.hpp"

namespace leasehold {

error::error(errc code, const std::string& message, error_facts facts, source_place raised_at)
    : std::runtime_error(message),
      code_(code),
      where_(raised_at),
      facts_(std::make_shared<const error_facts>(std::move(facts))) {}

bool error::is_transient() const noexcept {
    switch (code_) {
        case errc::connection_lost:
        case errc::timed_out:
        case errc::transient:
            return true;
        case errc::connection_failed:
        case errc::database_error:
        case errc::read_only:
            // Refused passwords and unknown databases stay wrong, and so does a transaction that
            // may not write; drivers mark errors that may pass.
            return facts_->is_passing;
        default:
            return false;
    }
}

bool error::connection_is_lost() const noexcept {
    return code_ == errc::connection_lost || code_ == errc::connection_failed;
}

std::errc error::condition() const noexcept {
    switch (code_) {
        case errc::would_deadlock:
            return std::errc::resource_deadlock_would_occur;
        case errc::timed_out:
            return std::errc::timed_out;
        case errc::busy:
            return std::errc::device_or_resource_busy;
        case errc::invalid_argument:
            return std::errc::invalid_argument;
        case errc::permission_denied:
            return std::errc::permission_denied;
        case errc::read_only:
            return std::errc::read_only_file_system;
        default:
            return std::errc{};
    }
}

const char* name_of(errc code) noexcept {
    switch (code) {
        case errc::invalid_argument:
            return "invalid_argument";
        case errc::connection_failed:
            return "connection_failed";
        case errc::connection_lost:
            return "connection_lost";
        case errc::timed_out:
            return "timed_out";
        case errc::transient:
            return "transient";
        case errc::constraint:
            return "constraint";
        case errc::schema_missing:
            return "schema_missing";
        case errc::schema_mismatch:
            return "schema_mismatch";
        case errc::permission_denied:
            return "permission_denied";
        case errc::read_only:
            return "read_only";
        case errc::lease_lost:
            return "lease_lost";
        case errc::session_lost:
            return "session_lost";
        case errc::wrong_transaction:
            return "wrong_transaction";
        case errc::unsupported:
            return "unsupported";
        case errc::busy:
            return "busy";
        case errc::database_error:
            return "database_error";
        case errc::would_deadlock:
            return "would_deadlock";
    }
    return "unknown";
}

error reworded(const error& cause, const std::string& message, bool outcome_unknown) {
    return error(
        cause.code(),
        message,
        {.sqlstate = cause.sqlstate(),
         .native_code = cause.native_code(),
         .server_message = cause.server_message(),
         .outcome_unknown = outcome_unknown,
         .is_passing = cause.is_transient()},
        cause.where()
    );
}

std::string about_a_missing_right(std::string_view server_words) {
    return (server_words.empty() ? "" : ": " + printable_utf8(server_words)) +
           ": connect as another user, or have the right granted; `leasehold migrate sql --grants "
           "USER` prints those that leasehold's own tables need";
}

bool proves_not_done(errc code) noexcept {
    return code != errc::connection_lost && code != errc::timed_out;
}

}  // namespace leasehold
