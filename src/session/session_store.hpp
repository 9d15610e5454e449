#pragma once
// The operations on sessions. The general MUSTs: hold_store.hpp.
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "leasehold/connection.hpp"
#include "leasehold/identity.hpp"
#include "leasehold/session_info.hpp"
#include "locks/hold_store.hpp"
#include "locks/waiter_store.hpp"

namespace leasehold {

class sql_dialect;

struct session_start {
    session_id id;
    std::string node_info;
    std::chrono::microseconds ttl{0};
};

struct server_environment {
    // The problems that would break a promise on this server, each in one line that says what to
    // do; empty if there is none.
    std::string unsuitable{};  // nothing can be acquired here at all
    std::string durability{};  // a crash can undo what was committed
    // True for a node of a cluster with several nodes that may be written to at once. Those have
    // row locks and snapshots of their own, and the stores' statements differ there: see
    // written_nodes.
    bool has_several_writers = false;

    // Both, in one line.
    std::string problem() const {
        std::string all;
        for (const std::string* each : {&unsuitable, &durability}) {
            if (!each->empty()) all += (all.empty() ? "" : "; ") + *each;
        }
        return all;
    }
};

// News that tell a session to look at its holds.
struct session_news {
    std::int64_t notices = 0;  // of its row: grows when somebody else changed a hold
    // The server's incarnation, another one after each start and on each other server. An answer
    // given under another one may not be in the present data. In a request, empty: any.
    std::string incarnation{};
};

enum class heartbeat_status {
    renewed = 1,  // expires one ttl from now, by the database's clock
    ended = 2,    // expired or gone: MUST NOT be revived
    noticed = 3,  // not renewed: there is news that the session did not know; look, then repeat
};

struct heartbeat_result {
    heartbeat_status status = heartbeat_status::ended;
    session_news news{};  // where noticed
};

class session_store {
public:
    virtual ~session_store() = default;
    static std::unique_ptr<session_store> make(const std::shared_ptr<const sql_dialect>& how);

    // May take 20 ms. Asked once per database object.
    virtual server_environment environment(connection& on) = 0;

    // The part that changes. `standbys`: why a fail-over can undo commits; empty if it cannot.
    // `branch`: the number that begin_branch() has given to the timeline of the server's data,
    // server_info::place; 0: none yet; nullopt: this user lacks the right to read it.
    // `incarnation`: as in session_news. `waits`: whether commits wait for a standby; nullopt: not
    // known, or this server is a standby itself.
    struct replication {
        std::string standbys{};
        std::optional<std::int64_t> branch{};
        std::string incarnation{};
        std::optional<bool> waits{};
    };
    virtual replication look_at_replication(connection&) { return {}; }
    // Two servers that were promoted independently have timelines of one number: this number tells
    // them apart. MUST be as durable here as the server's disk, and MUST NOT wait for a standby.
    // Keeps an existing number. False if this user lacks the right to write it.
    virtual bool begin_branch(connection&, std::int64_t) { return false; }
    virtual bool has_several_writers(connection&) { return false; }
    // Made on each connection of our own in such a cluster: its later reads are as new as on any
    // node.
    virtual void enter_cluster(connection&) {}

    // Inserts the row, notices = 0. Repeating it with the same id after a lost answer MUST succeed
    // and leave one live row; a row that has expired MUST stay as it is, and the answer is false.
    virtual bool start(connection& on, const session_start& session) = 0;

    // As start(), and grants as hold_store::try_acquire() in the same commit; answers with the
    // token. `wanted` is for `session`, for no fixed term. Answers nullopt, and writes nothing,
    // if the key is not simply free at this moment; the caller then uses start() and try_acquire().
    // MUST grant nothing if a row of this id exists: so a call that arrives late, behind a start()
    // or an end() that leaves the row, does nothing.
    virtual std::optional<fencing_token> start_with_grant(
        connection& on, const session_start& session, const acquire_request& wanted
    ) = 0;

    // One statement that changes one row when it renews. MUST carry the expiry in its condition, by
    // a clock read after any wait, and commit durably. The second statement that tells `ended` from
    // `noticed` is sent only when nothing was changed.
    virtual heartbeat_result heartbeat(
        connection& on,
        const session_id& id,
        std::chrono::microseconds ttl,
        const session_news& known
    ) = 0;

    // Gives the row of this session, if it is live, to `to`, whose node_info replaces `expected`;
    // the session expires one ttl from now. False, and nothing changed, if the row has another
    // node_info: of several that take it over from the same owner, one succeeds. MUST test and
    // commit as heartbeat() does, and make news, so that a heartbeat of the former owner renews
    // nothing.
    virtual bool take_over(
        connection& on, const session_start& to, const std::string& expected
    ) = 0;

    // The session ends now: it is expired from here on. If `remove_unless` is given, the row of
    // a live session is deleted as well, unless any of these rows still exists and names the
    // session: the lock row of the key, the holder's row of key and owner, the waiter's of key and
    // ticket. The same statement or packet decides and deletes. At most 256. Only safe when no
    // statement that this session ever sent can still be under way. Harmless to repeat.
    virtual void end(
        connection& on,
        const session_id& id,
        const std::optional<std::vector<waiter_id>>& remove_unless
    ) = 0;

    // A release of the last level of this hold, which ends the session in the same durable commit:
    // the row of a live session is deleted. False, and nothing changed, if release() answers
    // not_held, or the level is not the last. Only safe as above, and if the session has nothing
    // else. Harmless to repeat.
    virtual bool end_with_release(connection& on, const session_id& id, const hold& last) = 0;

    virtual std::vector<session_info> list(connection& on) = 0;
};

}  // namespace leasehold
