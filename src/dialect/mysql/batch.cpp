#include "dialect/mysql/batch.hpp"

#include <algorithm>

#include "dialect/mysql/stores.hpp"

namespace leasehold::mysql_dialect {

void batch::add(std::string_view statements, const parameters& values) {
    packet_ += statements;
    values_.insert(values_.end(), values.begin(), values.end());
}

std::int64_t batch::send(connection& on) const {
    std::string text = "START TRANSACTION; SELECT 0 INTO @leasehold_count;";
    text.append(packet_).append(" COMMIT; SELECT @leasehold_count");
    return send_transaction(on, text, values_).rows.at(0).integer(0);
}

std::int64_t in_batches(
    connection& on,
    const result& found,
    const std::function<void(batch&, const row&)>& add,
    std::string_view first
) {
    constexpr std::size_t per_packet_max = 100;
    std::int64_t count = 0;
    for (std::size_t from = 0; from < found.rows.size(); from += per_packet_max) {
        const std::size_t end = std::min(from + per_packet_max, found.rows.size());
        batch next;
        next.add(first);
        for (std::size_t at = from; at < end; ++at) add(next, found.rows[at]);
        count += despite_deadlocks([&] { return next.send(on); });
    }
    return count;
}

}  // namespace leasehold::mysql_dialect
