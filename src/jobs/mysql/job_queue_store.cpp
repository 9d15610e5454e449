// The upkeep of queues, and managing jobs, on MySQL and MariaDB. The statements: job_queue.sql.
#include "jobs/sql_job_queue_store.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <set>

#include "leasehold/error.hpp"
#include "sql/mysql/dialect.hpp"
#include "sql/sql_text.hpp"

namespace leasehold::mysql_dialect {
namespace {

class mysql_job_queue_store final : public sql_job_queue_store {
public:
    explicit mysql_job_queue_store(shared_dialect how) : sql_job_queue_store(std::move(how)) {}

    std::vector<queue_look> look(connection& on, const std::vector<std::string>& queues) override {
        const statement& part = texts_["look"];
        std::string text;
        parameters values;
        for (std::size_t at = 0; at < queues.size(); ++at) {
            text += (at == 0 ? "" : " UNION ALL ") + part.text();
            values = joined(std::move(values), part.placed({queues[at], at}));
        }
        std::vector<queue_look> all(queues.size());
        if (queues.empty()) return all;
        using column = columns::job_queue::look;
        for (const row& each : on.execute(text, as_bytes(values)).rows) {
            const auto number = static_cast<std::size_t>(each.integer(column::number));
            all.at(number) = look_in(each, column::queue_look);
        }
        return all;
    }

    std::int64_t promote(connection& on, std::string_view queue, int max_jobs) override {
        using column = columns::job_queue::promote;
        // The text has the number of jobs of a key that may run at a time. The answer has another
        // one only if somebody has just changed the queue's limits.
        constexpr int max_looks = 10;
        std::int64_t believed = 1;
        for (int look = 0;; ++look) {
            const std::string text =
                replaced(texts_.source("promote"), "{skipped}", std::to_string(believed - 1));
            const statement ask{text, how_->which(), how_->written()};
            const parameters values{std::string{queue}, max_jobs, believed};
            const row found = how_->write(on, ask, values).rows.at(0);
            const std::int64_t is = found.integer(column::per_key);
            if (is == believed || look == max_looks) return found.integer(column::due);
            believed = is;
        }
    }

    // Page by page, past rows that somebody has locked.
    rescue_result rescue(
        connection& on, std::string_view queue, int max_jobs, const job_retention& kept
    ) override {
        using column = columns::job_queue::lost_on_mysql;
        rescue_result all;
        std::int64_t priority = std::numeric_limits<std::int16_t>::min();
        job_id id = 0;
        while (all.rescued + all.quarantined < max_jobs) {
            const auto left = max_jobs - (all.rescued + all.quarantined);
            const parameters behind{std::string{queue}, left, priority, id};
            const auto lost = read(on, "lost", behind).rows;
            rescue(on, lost, kept, all);
            if (std::ssize(lost) < left) break;
            priority = lost.back().integer(column::priority);
            id = lost.back().integer(column::id);
        }
        return all;
    }

    std::int64_t unblock(connection& on, std::string_view queue, int max_keys, blocked_place& place)
        override {
        using column = columns::job_queue::last_key;
        std::set<job_id> ids;
        std::int64_t per_key = 1;
        int looks = 0;
        for (int left = max_keys, keys = 4; left > 0;) {
            const int asked = std::min(left, keys);
            const row seen = look_at_keys(on, queue, place, asked, per_key);
            constexpr int max_looks = 10;
            const bool is_mistaken = seen.integer(column::per_key) != per_key;
            per_key = seen.integer(column::per_key);
            // A different number means that somebody has changed the queue's limits.
            if (is_mistaken && ++looks < max_looks) continue;
            ids.merge(ids_in(text_or_empty(seen, column::ids)));
            place.key = text_or_empty(seen, column::key);
            if (place.is_beginning()) break;
            left -= asked;
            keys = std::min(4 * keys, 128);
        }
        if (ids.empty()) return 0;
        return only_integer(write(on, "unblock", {list_of(ids)}));
    }

    // Page by page, past rows that somebody has locked.
    std::int64_t prune(connection& on, int max_rows, std::size_t kept_back) override {
        std::int64_t pruned = 0;
        for (auto behind = kept_back; pruned < max_rows;) {
            const auto left = max_rows - pruned;
            auto ids = only_integers(read(on, "prune", {left, behind}));
            if (ids.empty()) break;
            std::ranges::sort(ids);
            const auto gone = only_integer(write(on, "prune_of", {list_of(ids)}));
            pruned += gone;
            if (std::ssize(ids) < left) break;
            behind += ids.size() - static_cast<std::size_t>(gone);
        }
        return pruned;
    }

    cancel_outcome cancel(connection& on, job_id id, std::chrono::microseconds kept) override {
        using column = columns::job_queue::cancel_on_mysql;
        // The job was retried between the looks at the two tables: look again.
        constexpr int max_looks = 10;
        for (int look = 0; look < max_looks; ++look) {
            const row found = write(on, "cancel", {id, kept_for(kept)}).rows.at(0);
            if (found.integer(column::found) > 0) {
                const bool is_idle = found.integer(column::idle) > 0;
                return is_idle ? cancel_outcome::cancelled : cancel_outcome::requested;
            }
            if (found.integer(column::in_history) > 0) return cancel_outcome::ended;
            if (found.integer(column::in_jobs) == 0) return cancel_outcome::not_found;
        }
        give_up_on(id, "cancel");
    }

    retry_outcome retry(connection& on, job_id id) override {
        try {
            return sql_job_queue_store::retry(on, id);
        } catch (const error& failure) {
            if (failure.native_code() != duplicate_key_code) throw;
            return retry_outcome::duplicate;
        }
    }

private:
    // Rescues lost jobs, session by session.
    void rescue(
        connection& on, const std::vector<row>& lost, const job_retention& kept, rescue_result& all
    ) {
        struct lost_session {
            bool is_removed = false;
            std::vector<std::pair<job_id, std::int64_t>> claims{};
        };
        using column = columns::job_queue::lost_on_mysql;
        std::map<std::string, lost_session> sessions;
        for (const row& each : lost) {
            lost_session& one = sessions[each.bytes(column::session)];
            one.is_removed = each.integer(column::is_removed) != 0;
            one.claims.emplace_back(each.integer(column::id), each.integer(column::token));
        }
        for (auto& [id, one] : sessions) {
            std::ranges::sort(one.claims);
            const parameters values{
                blob{id},
                one.is_removed ? 1 : 0,
                list_of_claims(one.claims),
                kept_for(kept.discarded),
                kept_for(kept.cancelled)};
            const row counts = write(on, "rescue", values).rows.at(0);
            all.rescued += counts.integer(columns::job_queue::rescue::rescued);
            all.quarantined += counts.integer(columns::job_queue::rescue::quarantined);
        }
    }
    // Sends a packet with a statement for each key.
    row look_at_keys(
        connection& on,
        std::string_view queue,
        const blocked_place& place,
        int keys,
        std::int64_t per_key
    ) const {
        const std::string next =
            replaced(texts_.source("next_key"), "{per_key}", std::to_string(per_key));
        std::string text = texts_.source("first_key");
        for (int each = 0; each < keys; ++each) text += ";\n" + next;
        text += ";\n" + texts_.source("last_key");
        const statement packet{text, how_->which(), how_->written()};
        return how_->read(on, packet, {std::string{queue}, place.key}).rows.at(0);
    }
    static std::string list_of_claims(const std::vector<std::pair<job_id, std::int64_t>>& claims) {
        std::string list;
        for (const auto& [id, token] : claims) {
            list += list.empty() ? "[" : ",[";
            list += std::to_string(id) + "," + std::to_string(token) + "]";
        }
        return "[" + list + "]";
    }
};

}  // namespace

std::unique_ptr<job_queue_store> make_job_queue_store(shared_dialect how) {
    return std::make_unique<mysql_job_queue_store>(std::move(how));
}

}  // namespace leasehold::mysql_dialect
