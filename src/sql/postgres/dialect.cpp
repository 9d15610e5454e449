#include "sql/postgres/dialect.hpp"
#include "sql/dialects.hpp"
#include "sql/sql_text.hpp"

namespace leasehold {
namespace postgres_dialect {
namespace {

// Every operation is one statement, which commits by itself if the caller has no transaction.
class dialect final : public sql_dialect {
public:
    dialect(const table_names& names, written_nodes written)
        : sql_dialect(engine::postgres, names, written) {}

    result read(connection& on, const statement& what, const parameters& values) const override {
        if (what.takes_as_given(values.size())) return carry_out(on, what.text(), values);
        return carry_out(on, what.text(), what.placed(values));
    }
    result write(connection& on, const statement& what, const parameters& values) const override {
        return read(on, what, values);
    }
    result inside(connection& on, const statement& what, const parameters& values) const override {
        return read(on, what, values);
    }
    result carry_out(connection& on, std::string_view sql, const parameters& values)
        const override {
        try {
            return on.execute(sql, values);
        } catch (const error& failure) {
            require_standby(failure);
            throw;
        }
    }

private:
    // The fragment `durable` fails with this value of a setting.
    static void require_standby(const error& failure) {
        if (failure.sqlstate() != "22023") return;  // invalid_parameter_value
        if (failure.server_message().find("\"no synchronous standby\"") == std::string::npos)
            return;
        throw error(
            errc::transient,
            "PostgreSQL was refused a commit that no standby would have had: "
            "synchronous_standby_names is empty there, and requires_standby is set here; name the "
            "standbys, or let the cluster manager do it (Patroni: synchronous_mode)",
            {.sqlstate = failure.sqlstate(), .server_message = failure.server_message()}
        );
    }
};

}  // namespace

std::string numbered_keys(std::size_t count, std::size_t first) {
    std::string list;
    for (std::size_t number = 0; number < count; ++number) {
        list += (number == 0 ? "(" : ", (") + std::to_string(number) + ", $" +
                std::to_string(first + number) + "::bytea)";
    }
    return list;
}

}  // namespace postgres_dialect

std::shared_ptr<const sql_dialect> make_postgres_dialect(
    const table_names& names, written_nodes written
) {
    using namespace postgres_dialect;
    require_valid(names);
    return std::make_shared<const dialect>(names, written);
}

}  // namespace leasehold
