#include "core/error.hpp"

#include <cstddef>
#include <new>
#include <string_view>
#include <utility>

#include "core/outcome.hpp"
#include "core/utf8.hpp"
#include "leasehold/callable.hpp"
#include "leasehold/handle.hpp"
#include "leasehold/url_source.hpp"

namespace leasehold {
namespace {

class category final : public std::error_category {
public:
    const char* name() const noexcept override { return "leasehold"; }
    std::string message(int value) const override { return name_of(static_cast<errc>(value)); }
    std::error_condition default_error_condition(int value) const noexcept override {
        switch (static_cast<errc>(value)) {
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
                return {value, *this};
        }
    }
};

}  // namespace

const std::error_category& error_category() noexcept {
    // The category is never destroyed: a thread of the library may raise an error behind the end of
    // the program.
    alignas(category) static std::byte place[sizeof(category)];
    static const category& only = *new (place) category;
    return only;
}
std::error_code make_error_code(errc code) noexcept {
    return {static_cast<int>(code), error_category()};
}

error::error(errc code, const std::string& message, error_facts facts)
    : std::system_error(make_error_code(code)),
      told_(std::make_shared<const told>(told{message, std::move(facts)})) {}

bool error::is_transient() const noexcept {
    switch (code()) {
        case errc::connection_lost:
        case errc::timed_out:
        case errc::transient:
            return true;
        case errc::connection_failed:
        case errc::database_error:
        case errc::read_only:
            // Refused passwords and unknown databases stay wrong, and so does a transaction that
            // may not write; drivers mark errors that may pass.
            return told_->facts.is_passing;
        default:
            return false;
    }
}

bool error::connection_is_lost() const noexcept {
    return code() == errc::connection_lost || code() == errc::connection_failed;
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
         .is_passing = cause.is_transient()}
    );
}

std::string words_of_thrown() {
    try {
        throw;
    } catch (const std::exception& thrown) {
        const char* const said = thrown.what();
        constexpr std::size_t enough_bytes = 4'096;  // for a line of a log
        if (said == nullptr || *said == '\0') return "an exception without words";
        return std::string{std::string_view{said}.substr(0, enough_bytes)};
    } catch (...) {
        return "an exception that is no std::exception";
    }
}

std::string about_a_missing_right(std::string_view server_words) {
    return (server_words.empty() ? "" : ": " + printable_utf8(server_words)) +
           ": connect as another user, or have the right granted; `leasehold migrate sql --grants "
           "USER` prints those that leasehold's own tables need";
}

url_text::url_text(const char* url) {
    if (url == nullptr) {
        throw error{
            errc::invalid_argument,
            "a null pointer is no URL of a database: is the environment variable set?"};
    }
    url_ = url;
}

void refuse_empty_callable() {
    throw error(errc::invalid_argument, "a function to call is empty");
}

void refuse_spent(const char* what) {
    throw error(errc::lease_lost, std::string("this ") + what + " was moved from");
}

void refuse_moved_from(const char* what) {
    throw error(errc::invalid_argument, "this " + std::string(what) + " was moved from");
}

bool proves_not_done(errc code) noexcept {
    return code != errc::connection_lost && code != errc::timed_out;
}

}  // namespace leasehold
