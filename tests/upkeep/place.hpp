#pragma once
// An empty database, schema or file to make tables in, for each engine; and what is in it, in
// words that can be compared. Each <engine>_place.cpp defines make_place().
#include <string>
#include <vector>

#include "database/database.hpp"
#include "leasehold/database.hpp"
#include "leasehold/session.hpp"

namespace leasehold::testing {

class place {
public:
    // Fails the run where the backend is required and absent; see tests/README.md.
    place();
    ~place();  // removes it with all that is in it
    place(const place&) = delete;
    place& operator=(const place&) = delete;

    // The URL with which a new process opens it.
    const std::string& url() const noexcept { return url_; }
    // A handle with a pool of its own.
    database open() const { return open_url(url_); }

    // The same with other names of the tables.
    database open_named(const std::string& prefix) const;

    // The same as a user who has the rights of grants() and no more, once they were loaded. For
    // servers alone.
    database open_as_program() const;
    std::string grants() const;
    static std::string program_name();

    // Runs a file as a person would with the engine's own tool.
    void load(const std::string& script) const;

    // Everything the engine says of what is here: tables, columns, types, nullability, defaults,
    // keys, indexes, checks, storage options; one line for each, sorted.
    std::vector<std::string> shape() const;

    // "table.column" of every table.
    std::vector<std::string> columns() const;

    // The file of schema/ that should make the same.
    static const char* schema_file();
    // Statements that change the shape, one way each.
    static std::vector<std::string> alterations();
    // The changes that a doctor is to see: of columns, indexes and checks.
    static std::vector<std::string> drifts();
    static database open_url(const std::string& url);

private:
    std::string url_;
    std::string name_;
};

// Each statement on its own, on one connection.
inline void run_in(const database& db, const std::vector<std::string>& statements) {
    db.inner()->use_unchecked([&](connection& on, store_set&) {
        for (const std::string& each : statements) on.execute(each);
    });
}

// The rows of a query, a line for each, columns separated by " | ".
std::vector<std::string> lines_of(connection& on, const std::string& sql);

}  // namespace leasehold::testing
