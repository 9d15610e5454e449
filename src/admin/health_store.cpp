#include "admin/health_store.hpp"

#include "leasehold/error.hpp"

namespace leasehold {

std::string words_of(const error& failure) {
    std::string all = failure.what();
    const std::string& words = failure.server_message();
    const bool is_opaque = failure.code() == errc::database_error && !words.empty();
    return is_opaque && all.find(words) == std::string::npos ? all + ": " + words : all;
}

finding not_looked_at(std::string_view at, const error& failure) {
    const bool may_not = failure.code() == errc::permission_denied;
    return {
        may_not ? severity::good : severity::warning,
        "not_looked_at",
        std::string{at} + " could not be looked at: " + words_of(failure),
        "what is wrong there is not found",
        may_not
            ? "run the doctor as a user who may ask, or see what each question needs in the guide "
              "to rights"
            : "see to what the message says, and try again"};
}

}  // namespace leasehold
