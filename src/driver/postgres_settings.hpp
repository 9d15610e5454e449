#pragma once
// Private to the PostgreSQL driver: the settings of a session of our own, or of one transaction in
// a session that a pooler shares, so that no value of a role, a database or the server bends a
// statement.
#include <array>
#include <string>
#include <string_view>

namespace leasehold::postgres {

// The questions to a server. Not every service lets everybody ask for the number of the database
// system, and a program that only speaks PostgreSQL's protocol may know none of the functions.
enum class set_up_question { all = 0, without_system = 1, settings_alone = 2 };

// The first statement of a connection. $1 the process that libpq was told of, $2 the bound of a
// statement in milliseconds, as text, $3 whether the server shall watch its client (1 or 0).
//
// Every connection has a process of its own, whose number the server names when it starts. A pooler
// cannot pass it on, so another number in our first answer proves one, whatever start-up options it
// took or swallowed. Then all settings are local to this one statement, so that no trace is left in
// a session that belongs to others. In a session of our own the server's limits on idle and on long
// transactions are raised to $2, and on idle sessions to an hour; longer limits and none stay.
//
// Answers whether the session is shared, and, fifth, whether the server watches its client; then,
// as far as `how` asks for it, whether it is a standby, and its origin; the number of the database
// system and, of a primary, the timeline in hexadecimal digits.
std::string set_up_text(set_up_question how);

// An expression for the identity of this server and of its start. Through a proxy two connections
// to one address may be to two servers, where the number of a process is another one's. Without the
// number of the database system it has the server's own address, which differs by the way to it.
std::string origin_words(set_up_question how);

// The settings that are the same everywhere, for one transaction alone: columns of a SELECT, which
// begin with a comma, and statements, which begin with a semicolon. They also hold the planner to
// indexes, except in a transaction of the caller.
std::string pinned_columns(std::string_view is_local);
std::string pinned_statements(bool is_callers);

// Statements for a transaction of the caller in a session of our own: the planner has all the ways
// there that the role, the database or the server gives it.
std::array<const char*, 2> caller_planning();

}  // namespace leasehold::postgres
