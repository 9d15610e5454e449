// Our tables as the migrations make them, in the lines of `shape` in health.sql. A test of
// tests/upkeep prints what they should be.
#include "dialect/sqlite/stores.hpp"

namespace leasehold::sqlite_dialect {

std::string_view tables_shape() noexcept {
    return R"(
fence_guard column fence integer not null
fence_guard column proofs integer not null default
fence_guard column resource blob not null key 1
fence_guard unique index (resource)
fence_guard without rowid
fence_mark column boot_id text not null
fence_mark column fence integer not null
fence_mark column id integer not null key 1
holder column fence integer not null
holder column granted_at integer not null
holder column lock_key blob not null key 1
holder column mode integer not null
holder column node_info text not null
holder column owner blob not null key 2
holder column permits integer not null
holder column proofs integer not null default
holder column session_id blob not null
holder unique index (lock_key, owner)
holder without rowid
job column attempts integer not null default
job column attempts_max integer
job column claimed_at integer
job column due_at integer default
job column enqueued_at integer not null default
job column error text
job column id integer not null key 1
job column is_cancel_requested integer not null default
job column kind text not null default
job column node_info text
job column ordering_key text
job column payload text not null default
job column priority integer not null default
job column progress text
job column queue text not null
job column rescues integer not null default
job column rescues_max integer
job column retry_delay integer
job column retry_delay_max integer
job column session_id blob
job column state integer not null default
job column time_limit integer
job column token integer not null default
job column unique_slot text
job column unique_until integer
job index (queue, due_at, id) partial
job index (queue, ordering_key, id) partial
job index (queue, state, priority, id)
job unique index (queue, unique_slot) partial
job_bell column address text not null
job_bell column bell blob not null key 2
job_bell column queue text not null key 1
job_bell column session_id blob not null
job_bell unique index (queue, bell)
job_bell without rowid
job_history column attempts integer not null
job_history column attempts_max integer
job_history column ended_at integer not null
job_history column enqueued_at integer not null
job_history column error text
job_history column id integer not null key 1
job_history column kind text not null
job_history column node_info text
job_history column ordering_key text
job_history column payload text not null
job_history column priority integer not null
job_history column progress text
job_history column prune_at integer not null
job_history column queue text not null
job_history column rescues integer not null
job_history column rescues_max integer
job_history column result text
job_history column retry_delay integer
job_history column retry_delay_max integer
job_history column state integer not null
job_history column time_limit integer
job_history column token integer not null
job_history column unique_slot text
job_history column unique_until integer
job_history index (prune_at, id)
job_history index (queue, state, id)
job_need column job_id integer not null key 1
job_need column needs_id integer not null key 2
job_need column wants integer not null default
job_need index (needs_id, job_id)
job_need unique index (job_id, needs_id)
job_need without rowid
job_schedule column attempts_max integer
job_schedule column catch_up_max integer not null default
job_schedule column cron text
job_schedule column is_paused integer not null default
job_schedule column kind text not null default
job_schedule column last_at integer
job_schedule column last_job integer
job_schedule column late_max integer not null default
job_schedule column misfire integer not null default
job_schedule column name text not null key 1
job_schedule column next_at integer not null
job_schedule column ordering_key text
job_schedule column payload text not null default
job_schedule column period integer
job_schedule column priority integer not null default
job_schedule column queue text not null
job_schedule column rescues_max integer
job_schedule column retry_delay integer
job_schedule column retry_delay_max integer
job_schedule column time_limit integer
job_schedule column unique_conflict integer not null default
job_schedule column unique_key text
job_schedule column unique_until integer
job_schedule column version integer not null
job_schedule column zone text not null default
job_schedule index (queue, is_paused, next_at)
job_schedule unique index (name)
job_schedule without rowid
lock column arrived integer not null default
lock column capacity integer not null default
lock column changed_at integer not null
lock column expires_at integer
lock column fence integer not null
lock column kind integer not null default
lock column last_ticket integer not null default
lock column lock_delay integer not null default
lock column lock_key blob not null key 1
lock column metadata text
lock column node_info text not null
lock column owner blob
lock column proofs integer not null default
lock column reentrant_count integer not null
lock column revocations integer not null default
lock column session_id blob
lock unique index (lock_key)
lock without rowid
migration column applied_at text not null default
migration column checksum text not null
migration column finished integer not null
migration column name text not null
migration column version integer not null key 1
queue column is_paused integer not null default
queue column keep_cancelled integer not null default
queue column keep_completed integer not null default
queue column keep_discarded integer not null default
queue column name text not null key 1
queue column running_max integer
queue column running_per_key_max integer not null default
queue column starts_from integer not null default
queue column starts_max integer
queue column starts_per integer not null default
queue column swept_at integer not null default
queue column turn integer not null default
queue unique index (name)
queue without rowid
run column exit_status integer
run column finished_at integer
run column message text not null
run column name blob not null key 1
run column node_info text not null
run column opens_at integer not null
run column owner blob not null
run column started_at integer not null
run column state integer not null
run column tick integer not null
run column token integer not null
run unique index (name)
run without rowid
session column expires_at integer not null
session column heartbeat_at integer not null
session column id blob not null key 1
session column node_info text not null
session column notices integer not null
session column started_at integer not null
session unique index (id)
session without rowid
upkeep column passes integer not null
upkeep column place blob not null
upkeep column sweeps_to integer not null
upkeep column swept_to integer not null
upkeep column task integer not null key 1
upkeep column turn integer not null
upkeep column turned_at integer not null
upkeep column unfinished integer not null
upkeep unique index (task)
upkeep without rowid
waiter column bell text
waiter column hold_at_most integer
waiter column lock_delay integer not null default
waiter column lock_key blob not null key 1
waiter column metadata text
waiter column mode integer not null default
waiter column node_info text not null
waiter column owner blob not null
waiter column permits integer not null default
waiter column queued_at integer not null
waiter column session_id blob not null
waiter column ticket integer not null key 2
waiter index (owner)
waiter index (session_id)
waiter unique index (lock_key, ticket)
waiter without rowid
)";
}

}  // namespace leasehold::sqlite_dialect
