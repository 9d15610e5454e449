// Our tables as the migrations make them, in the lines of `shape` in health.sql. A test of
// tests/upkeep prints what they should be.
#include "dialect/mysql/stores.hpp"

namespace leasehold::mysql_dialect {

std::string_view tables_shape() noexcept {
    return R"(
fence_guard column fence bigint not null
fence_guard column proofs bigint not null
fence_guard column resource varbinary(255) not null
fence_guard engine innodb
fence_guard unique index (resource)
fence_mark column fence bigint not null
fence_mark column id tinyint not null
fence_mark engine innodb
fence_mark unique index (id)
holder column fence bigint not null
holder column granted_at bigint not null
holder column lock_key varbinary(255) not null
holder column mode smallint not null
holder column node_info varbinary(255) not null
holder column owner binary(16) not null
holder column permits bigint not null
holder column proofs bigint not null
holder column session_id binary(16) not null
holder engine innodb
holder unique index (lock_key, owner)
job column attempts int not null
job column attempts_max int
job column claimed_at bigint
job column due_at bigint
job column enqueued_at bigint not null
job column error varbinary(4000)
job column id bigint not null auto_increment
job column is_cancel_requested smallint not null
job column kind varbinary(255) not null
job column node_info varbinary(255)
job column ordering_key varbinary(255)
job column payload longblob not null
job column priority smallint not null
job column progress varbinary(4000)
job column queue varbinary(255) not null
job column rescues int not null
job column rescues_max int
job column retry_delay bigint
job column retry_delay_max bigint
job column session_id binary(16)
job column state smallint not null
job column time_limit bigint
job column token bigint not null
job column unique_slot varbinary(255)
job column unique_until smallint
job engine innodb
job index (queue, due_at, id)
job index (queue, ordering_key, id)
job index (queue, state, priority, id)
job unique index (id)
job unique index (queue, unique_slot)
job_bell column address varbinary(255) not null
job_bell column bell binary(16) not null
job_bell column queue varbinary(255) not null
job_bell column session_id binary(16) not null
job_bell engine innodb
job_bell unique index (queue, bell)
job_history column attempts int not null
job_history column attempts_max int
job_history column ended_at bigint not null
job_history column enqueued_at bigint not null
job_history column error varbinary(4000)
job_history column id bigint not null
job_history column kind varbinary(255) not null
job_history column node_info varbinary(255)
job_history column ordering_key varbinary(255)
job_history column payload longblob not null
job_history column priority smallint not null
job_history column progress varbinary(4000)
job_history column prune_at bigint not null
job_history column queue varbinary(255) not null
job_history column rescues int not null
job_history column rescues_max int
job_history column result varbinary(4000)
job_history column retry_delay bigint
job_history column retry_delay_max bigint
job_history column state smallint not null
job_history column time_limit bigint
job_history column token bigint not null
job_history column unique_slot varbinary(255)
job_history column unique_until smallint
job_history engine innodb
job_history index (prune_at, id)
job_history index (queue, state, id)
job_history unique index (id)
job_need column job_id bigint not null
job_need column needs_id bigint not null
job_need column wants smallint not null
job_need engine innodb
job_need index (needs_id, job_id)
job_need unique index (job_id, needs_id)
job_schedule column attempts_max int
job_schedule column catch_up_max int not null
job_schedule column cron varbinary(1000)
job_schedule column is_paused smallint not null
job_schedule column kind varbinary(255) not null
job_schedule column last_at bigint
job_schedule column last_job bigint
job_schedule column late_max bigint not null
job_schedule column misfire smallint not null
job_schedule column name varbinary(200) not null
job_schedule column next_at bigint not null
job_schedule column ordering_key varbinary(255)
job_schedule column payload longblob not null
job_schedule column period bigint
job_schedule column priority smallint not null
job_schedule column queue varbinary(255) not null
job_schedule column rescues_max int
job_schedule column retry_delay bigint
job_schedule column retry_delay_max bigint
job_schedule column time_limit bigint
job_schedule column unique_conflict smallint not null
job_schedule column unique_key varbinary(255)
job_schedule column unique_until smallint
job_schedule column version bigint not null
job_schedule column zone varbinary(255) not null
job_schedule engine innodb
job_schedule index (queue, is_paused, next_at)
job_schedule unique index (name)
lock column arrived bigint not null
lock column capacity bigint not null
lock column changed_at bigint not null
lock column expires_at bigint
lock column fence bigint not null
lock column kind smallint not null
lock column last_ticket bigint not null
lock column lock_delay bigint not null
lock column lock_key varbinary(255) not null
lock column metadata varbinary(4000)
lock column node_info varbinary(255) not null
lock column owner binary(16)
lock column proofs bigint not null
lock column reentrant_count bigint not null
lock column revocations bigint not null
lock column session_id binary(16)
lock engine innodb
lock unique index (lock_key)
migration column applied_at bigint not null
migration column checksum char(64) ascii not null
migration column finished tinyint not null
migration column name varchar(100) ascii not null
migration column version int not null
migration engine innodb
migration unique index (version)
queue column is_paused smallint not null
queue column keep_cancelled bigint not null
queue column keep_completed bigint not null
queue column keep_discarded bigint not null
queue column name varbinary(255) not null
queue column running_max int
queue column running_per_key_max int not null
queue column starts_from bigint not null
queue column starts_max int
queue column starts_per bigint not null
queue column swept_at bigint not null
queue column turn bigint not null
queue engine innodb
queue unique index (name)
run column exit_status bigint
run column finished_at bigint
run column message varbinary(1000) not null
run column name varbinary(255) not null
run column node_info varbinary(255) not null
run column opens_at bigint not null
run column owner binary(16) not null
run column started_at bigint not null
run column state smallint not null
run column tick bigint not null
run column token bigint not null
run engine innodb
run unique index (name)
session column expires_at bigint not null
session column heartbeat_at bigint not null
session column id binary(16) not null
session column node_info varbinary(255) not null
session column notices bigint not null
session column started_at bigint not null
session engine innodb
session unique index (id)
upkeep column passes bigint not null
upkeep column place varbinary(300) not null
upkeep column sweeps_to bigint not null
upkeep column swept_to bigint not null
upkeep column task smallint not null
upkeep column turn bigint not null
upkeep column turned_at bigint not null
upkeep column unfinished bigint not null
upkeep engine innodb
upkeep unique index (task)
waiter column bell varbinary(255)
waiter column hold_at_most bigint
waiter column lock_delay bigint not null
waiter column lock_key varbinary(255) not null
waiter column metadata varbinary(4000)
waiter column mode smallint not null
waiter column node_info varbinary(255) not null
waiter column owner binary(16) not null
waiter column permits bigint not null
waiter column queued_at bigint not null
waiter column session_id binary(16) not null
waiter column ticket bigint not null
waiter engine innodb
waiter index (owner)
waiter index (session_id)
waiter unique index (lock_key, ticket)
)";
}

}  // namespace leasehold::mysql_dialect
