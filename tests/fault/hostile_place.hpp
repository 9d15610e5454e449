#pragma once
// A server whose settings are turned against the library. The library connects as an ordinary user:
// the server runs init_connect for everybody but superusers.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "leasehold/database.hpp"
#include "leasehold/session.hpp"

namespace leasehold::testing {

struct hostile_setting {
    std::string name;                                            // of the test
    std::vector<std::pair<std::string, std::string>> variables;  // each with a value as SQL
    // A question whose answer shows what stands in a connection of the library's own; or nothing.
    std::string question{};
    std::string answer{};
};

class hostile_place {
public:
    hostile_place() = default;
    hostile_place(const hostile_place&) = delete;
    hostile_place& operator=(const hostile_place&) = delete;
    virtual ~hostile_place() = default;

    // A handle of its own for the ordinary user, who may do everything in this database.
    virtual database open(const std::string& prefix) const = 0;

    // Applies to connections made from now on, until restore().
    virtual void set(const hostile_setting& what) = 0;
    virtual void restore() noexcept = 0;

    // Words of its SQL: the first parameter, bytes of up to 16, a real number, the end of a CREATE
    // TABLE, and a time of the library's tables two hours earlier.
    virtual std::string first_parameter() const = 0;
    virtual std::string bytes_type() const = 0;
    virtual std::string one_third() const = 0;
    virtual std::string end_of_table() const = 0;
    virtual std::string two_hours_before(const std::string& column) const = 0;
};

// The settings that every suite of the table runs through, and those that must be refused in words.
std::vector<hostile_setting> hostile_settings();
std::vector<hostile_setting> refused_settings();

std::unique_ptr<hostile_place> make_hostile_place();

}  // namespace leasehold::testing
