#pragma once
// Private to the MySQL driver: statements as text, with values written into them as literals.
//
// Literals are used, and not server-side prepared statements, because a script of several
// statements cannot be prepared at all; one statement is one round trip from its first use on; and
// nothing of ours is kept in the server's session, so it works behind proxies that share
// connections. Bytes and text travel as hexadecimal digits, which no character set and no sql_mode
// can misread: there is no quoting to get wrong.
// The price, measured as CPU time of client and server together (medians of 40 alternating rounds,
// MariaDB 10.11 and MySQL 9.7): a point SELECT costs 1.16 and 1.19 times as much as prepared (all
// of it parsing at the server, 20 to 30 us), an UPDATE 1.07 and 1.06 times; the client's own share
// is the same (0.9 to 1.05). A network's round trip hides it.
#include <string>
#include <string_view>

#include "leasehold/export.hpp"
#include "leasehold/value.hpp"

namespace leasehold::mysql {

// Replaces each `$1` or `?` by a literal, see core/numbered_parameters.hpp. Without values the text
// is left as it is. Throws invalid_argument when there are more or fewer values than placeholders,
// and for an infinite number or NaN.
LEASEHOLD_EXPORT std::string with_literals(std::string_view sql, const parameters& values);

// Whether a text has a second statement behind its first. The body of a routine, and a block of
// MariaDB's, count as a part of the first.
LEASEHOLD_EXPORT bool has_second(std::string_view sql);

// The effect of a statement on the transaction around it; `none` for a chained one.
enum class transaction_step { none = 0, begins = 1, commits = 2, rolls_back = 3 };
LEASEHOLD_EXPORT transaction_step step_of(std::string_view statement);

}  // namespace leasehold::mysql
