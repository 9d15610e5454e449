#pragma once
// Private to the MySQL driver: the settings of a session of our own, and the questions to a server
// before that.
#include <string>
#include <string_view>

#include "leasehold/connection.hpp"
#include "leasehold/export.hpp"

namespace leasehold::mysql {

// A first question that every server answers, whatever its global settings.
// The LIMIT is heeded before sql_select_limit, which may be 0. NOW() follows `timestamp`, SYSDATE()
// does not, and two local times are not converted, which would be ambiguous for an hour a year.
inline constexpr std::string_view first_question =
    "SELECT VERSION() AS server_version, @@max_allowed_packet AS max_allowed_packet,"
    " @@GLOBAL.innodb_rollback_on_timeout AS rolls_back, @@wait_timeout AS wait_timeout,"
    " ABS(TIMESTAMPDIFF(SECOND, NOW(6), SYSDATE(6))) > 2 AS has_timestamp,"
    " CONNECTION_ID() AS connection_number,"
    " CONCAT_WS(':', @@hostname, @@port, @@server_id) AS server_place LIMIT 1";

// Below this the server cuts off or refuses statements of ours. A session cannot raise it.
inline constexpr std::int64_t max_allowed_packet_min = 65'536;

// Asked of a lent session, once, before our first statement in it. Its settings are its owner's,
// and these would bend our statements, or their results, without a sign.
inline constexpr std::string_view lent_question =
    "SELECT @@sql_select_limit < 4294967295, ABS(TIMESTAMPDIFF(SECOND, NOW(6), SYSDATE(6))) > 60,"
    " COALESCE(@@character_set_client, ''), COALESCE(@@character_set_results, '') LIMIT 1";
// Its answer is read by these places, since names come in the character set that it asks about.
namespace lent_columns {
inline constexpr std::size_t has_limit = 0, has_timestamp = 1, sent_set = 2, received_set = 3;
}

// Throws unsupported, naming the setting and what to do. `answer`: to lent_question.
LEASEHOLD_EXPORT void require_unbent(const std::string& place, const row& answer);

// The settings of a session of our own, so that no global setting and no init_connect bends a
// statement: one SET, which any user has the right to send. `first`: the answer to first_question.
std::string pinned_settings(engine which, const row& first);

}  // namespace leasehold::mysql
