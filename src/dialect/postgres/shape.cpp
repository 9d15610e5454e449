// Our tables as the migrations make them, in the lines of `shape` in health.sql. A test of
// tests/upkeep prints what they should be.
#include "dialect/postgres/stores.hpp"

namespace leasehold::postgres_dialect {

std::string_view tables_shape() noexcept {
    return R"(
fence_guard check fence_guard_fence_positive
fence_guard check fence_guard_resource_size
fence_guard column fence bigint not null
fence_guard column proofs bigint not null default
fence_guard column resource bytea not null
fence_guard unique index (resource)
fence_mark check fence_mark_single
fence_mark column fence bigint not null
fence_mark column id smallint not null
fence_mark unique index (id)
holder check holder_not_negative
holder column fence bigint not null
holder column granted_at timestamp with time zone not null
holder column lock_key bytea not null
holder column mode smallint not null
holder column node_info text not null
holder column owner bytea not null
holder column permits bigint not null
holder column proofs bigint not null default
holder column session_id bytea not null
holder unique index (lock_key, owner)
job check job_names_size
job check job_runs_or_waits
job column attempts integer not null default
job column attempts_max integer
job column claimed_at timestamp with time zone
job column due_at timestamp with time zone default
job column enqueued_at timestamp with time zone not null default
job column error text
job column id bigint not null identity
job column is_cancel_requested smallint not null default
job column kind text collate C not null default
job column node_info text
job column ordering_key text collate C
job column payload text not null default
job column priority smallint not null default
job column progress text
job column queue text collate C not null
job column rescues integer not null default
job column rescues_max integer
job column retry_delay bigint
job column retry_delay_max bigint
job column session_id bytea
job column state smallint not null default
job column time_limit bigint
job column token bigint not null default
job column unique_slot text collate C
job column unique_until smallint
job index (queue, due_at, id) partial
job index (queue, ordering_key, id) partial
job index (queue, state, priority, id) partial
job unique index (id)
job unique index (queue, unique_slot) partial
job_bell column address text not null
job_bell column bell bytea not null
job_bell column queue text collate C not null
job_bell column session_id bytea not null
job_bell unique index (queue, bell)
job_history column attempts integer not null
job_history column attempts_max integer
job_history column ended_at timestamp with time zone not null
job_history column enqueued_at timestamp with time zone not null
job_history column error text
job_history column id bigint not null
job_history column kind text collate C not null
job_history column node_info text
job_history column ordering_key text collate C
job_history column payload text not null
job_history column priority smallint not null
job_history column progress text
job_history column prune_at timestamp with time zone not null
job_history column queue text collate C not null
job_history column rescues integer not null
job_history column rescues_max integer
job_history column result text
job_history column retry_delay bigint
job_history column retry_delay_max bigint
job_history column state smallint not null
job_history column time_limit bigint
job_history column token bigint not null
job_history column unique_slot text collate C
job_history column unique_until smallint
job_history index (prune_at, id)
job_history index (queue, state, id)
job_history unique index (id)
job_need column job_id bigint not null
job_need column needs_id bigint not null
job_need column wants smallint not null default
job_need index (needs_id, job_id)
job_need unique index (job_id, needs_id)
job_schedule check job_schedule_name_size
job_schedule check job_schedule_times
job_schedule column attempts_max integer
job_schedule column catch_up_max integer not null default
job_schedule column cron text
job_schedule column is_paused smallint not null default
job_schedule column kind text collate C not null default
job_schedule column last_at bigint
job_schedule column last_job bigint
job_schedule column late_max bigint not null default
job_schedule column misfire smallint not null default
job_schedule column name text collate C not null
job_schedule column next_at bigint not null
job_schedule column ordering_key text collate C
job_schedule column payload text not null default
job_schedule column period bigint
job_schedule column priority smallint not null default
job_schedule column queue text collate C not null
job_schedule column rescues_max integer
job_schedule column retry_delay bigint
job_schedule column retry_delay_max bigint
job_schedule column time_limit bigint
job_schedule column unique_conflict smallint not null default
job_schedule column unique_key text collate C
job_schedule column unique_until smallint
job_schedule column version bigint not null
job_schedule column zone text not null default
job_schedule index (queue, is_paused, next_at)
job_schedule unique index (name)
lock check lock_fence_positive
lock check lock_free_or_held
lock check lock_key_size
lock column arrived bigint not null default
lock column capacity bigint not null default
lock column changed_at timestamp with time zone not null
lock column expires_at timestamp with time zone
lock column fence bigint not null
lock column kind smallint not null default
lock column last_ticket bigint not null default
lock column lock_delay bigint not null default
lock column lock_key bytea not null
lock column metadata text
lock column node_info text not null
lock column owner bytea
lock column proofs bigint not null default
lock column reentrant_count bigint not null
lock column revocations bigint not null default
lock column session_id bytea
lock unique index (lock_key)
migration column applied_at timestamp with time zone not null default
migration column checksum text not null
migration column finished boolean not null
migration column name text not null
migration column version integer not null
migration unique index (version)
queue check queue_name_size
queue column is_paused smallint not null default
queue column keep_cancelled bigint not null default
queue column keep_completed bigint not null default
queue column keep_discarded bigint not null default
queue column name text collate C not null
queue column running_max integer
queue column running_per_key_max integer not null default
queue column starts_from timestamp with time zone not null default
queue column starts_max integer
queue column starts_per bigint not null default
queue column swept_at timestamp with time zone not null default
queue column turn bigint not null default
queue unique index (name)
run check run_name_size
run check run_started_or_finished
run check run_token_positive
run column exit_status bigint
run column finished_at timestamp with time zone
run column message text not null
run column name bytea not null
run column node_info text not null
run column opens_at timestamp with time zone not null
run column owner bytea not null
run column started_at timestamp with time zone not null
run column state smallint not null
run column tick bigint not null
run column token bigint not null
run unique index (name)
session check session_id_size
session column expires_at timestamp with time zone not null
session column heartbeat_at timestamp with time zone not null
session column id bytea not null
session column node_info text not null
session column notices bigint not null
session column started_at timestamp with time zone not null
session unique index (id)
upkeep column passes bigint not null
upkeep column place bytea not null
upkeep column sweeps_to timestamp with time zone not null
upkeep column swept_to timestamp with time zone not null
upkeep column task smallint not null
upkeep column turn bigint not null
upkeep column turned_at timestamp with time zone not null
upkeep column unfinished bigint not null
upkeep unique index (task)
waiter check waiter_owner_size
waiter column bell text
waiter column hold_at_most bigint
waiter column lock_delay bigint not null default
waiter column lock_key bytea not null
waiter column metadata text
waiter column mode smallint not null default
waiter column node_info text not null
waiter column owner bytea not null
waiter column permits bigint not null default
waiter column queued_at timestamp with time zone not null
waiter column session_id bytea not null
waiter column ticket bigint not null
waiter index (owner)
waiter index (session_id)
waiter unique index (lock_key, ticket)
)";
}

}  // namespace leasehold::postgres_dialect
