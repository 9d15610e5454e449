#pragma once
// Private to the PostgreSQL driver: our values as libpq's parameters, libpq's results as our rows.
#include <libpq-fe.h>

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "driver/postgres_wire.hpp"
#include "leasehold/value.hpp"

namespace leasehold::postgres {

// Parameters in the shape libpq wants. Refers to the values it was made from, which must outlive
// it. Numbers and text travel as text, bytes as they are.
class bound_parameters {
public:
    // Throws invalid_argument for text with a zero byte, which PostgreSQL cannot hold and libpq
    // would silently cut off, and for more parameters than the protocol can count.
    explicit bound_parameters(const parameters& values LEASEHOLD_LIFETIMEBOUND);
    bound_parameters(const parameters&& of_a_moment) = delete;

    int count() const noexcept { return static_cast<int>(texts_.size()); }
    const Oid* types() const noexcept { return types_.data(); }
    const char* const* texts() const noexcept { return texts_.data(); }
    const int* sizes() const noexcept { return sizes_.data(); }
    const int* formats() const noexcept { return formats_.data(); }

    // One character per parameter: statements prepared for other types are other statements.
    const std::string& signature() const noexcept { return signature_; }

private:
    void bind(std::size_t index, const value& each);

    std::vector<std::array<char, 32>> numbers_;
    std::vector<Oid> types_;
    std::vector<const char*> texts_;
    std::vector<int> sizes_;
    std::vector<int> formats_;
    std::string signature_;
};

// libpq takes texts that end with a zero byte: one inside is refused (invalid_argument).
std::string statement_text(std::string_view sql);
// The same for a script. Throws unsupported if there are values for it.
std::string script_text(std::string_view sql, const parameters& values);

// The rows of one result; none if it is not one that has rows.
std::vector<row> rows_of(const PGresult* from);

// Rows changed by INSERT, UPDATE, DELETE or MERGE. A SELECT has a count too, which is none of them.
std::int64_t affected_rows_of(PGresult* from);

result result_of(PGresult* from);

// The result of a script: the rows of the last statement that returned any, and the last count of
// changes.
result last_result_of(std::span<const result_handle> all);

}  // namespace leasehold::postgres
