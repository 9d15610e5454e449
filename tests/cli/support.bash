# shellcheck shell=bash
# Every test of the tool begins with: source support.bash BACKEND
# Makes a folder to work in and tables of its own, and removes both at the end.
set -uo pipefail
# shellcheck source=tests/support/script_parts
source "$(dirname "${BASH_SOURCE[0]}")/../support/script_parts"
expect_arguments 'sqlite|postgres|mariadb|mysql' "$@"

backend=$1
[[ $backend =~ ^(sqlite|postgres|mariadb|mysql)$ ]] || refuse_arguments "no such backend: $backend"
: "${LEASEHOLD_CLI:?is not set: the path of the leasehold program}"
: "${LEASEHOLD_BY_HAND:?is not set: the path of the program cli_by_hand}"
cli=$(realpath "$LEASEHOLD_CLI") || exit 1
hand=$(realpath "$LEASEHOLD_BY_HAND") || exit 1
folder=$(mktemp --directory) && cd "$folder" || exit 1

unset LEASEHOLD_TABLE_PREFIX LEASEHOLD_SCHEMA LEASEHOLD_BELL_ADDRESS
unset LEASEHOLD_KEY LEASEHOLD_TOKEN LEASEHOLD_OWNER LEASEHOLD_TICK NO_COLOR
url_or_exit() { # VARIABLE
    [[ -z ${!1-} ]] || return 0
    echo "$1 is not set: run by tests/run, or set it" >&2
    [[ ,${LEASEHOLD_REQUIRED_BACKENDS-}, == *,$backend,* ]] && exit 1
    exit 77
}
if [[ $backend == sqlite ]]; then
    owner_url=sqlite:$folder/test.db
    program_url=$owner_url
else
    variable=LEASEHOLD_TEST_${backend^^}
    url_or_exit "${variable}_URL"
    url_or_exit "${variable}_PROGRAM_URL"
    owner_url=${variable}_URL program_url=${variable}_PROGRAM_URL
    owner_url=${!owner_url} program_url=${!program_url}
fi
# Begins as the user who makes the tables.
LEASEHOLD_URL=$owner_url
export LEASEHOLD_URL

prefix=t$(od -An -N4 -tx4 /dev/urandom | tr -d ' ')_
# To be run by the shell itself where the number of its process matters: "${tool[@]}" ... &
# Many of its commands are the tool again.
tool=("$cli" --pass-url --table-prefix "$prefix")
leasehold() { "${tool[@]}" "$@"; }
by_hand() { "$hand" "$owner_url"; }

# Continues as a user who has the rights that the tool prints, and no more.
as_program() {
    local user=${program_url#*://}
    leasehold --url "$owner_url" migrate sql --grants "${user%%:*}" >grants &&
        by_hand <grants || fail 'the rights could not be granted'
    LEASEHOLD_URL=$program_url
}
as_owner() { LEASEHOLD_URL=$owner_url; }

failures=0
fail() {
    echo "FAILED (line ${BASH_LINENO[-2]}): $*" >&2
    failures=$((failures + 1))
    ((failures < 5)) || exit 1
}

finish() {
    local process
    for process in $(jobs -p); do
        kill -CONT "$process"
        kill -KILL "$process"
        wait "$process"
    done 2>/dev/null
    as_owner
    # A killed process lives in the database until its ttl has passed.
    until_true 40 no_tables || fail "the tables could not be removed: $(cat err)"
    cd / && rm -rf "$folder"
    ((failures == 0)) || exit 1
}
no_tables() {
    leasehold migrate status >/dev/null 2>err || return 0
    leasehold migrate down --to 0 >/dev/null 2>err
}
trap finish EXIT

# until_true SECONDS COMMAND...: asks again and again, at most so long.
until_true() {
    local deadline=$((${EPOCHREALTIME/[.,]/} + $1 * 1000000))
    shift
    until "$@"; do
        ((${EPOCHREALTIME/[.,]/} < deadline)) || return 1
        sleep 0.02
    done
}
gone() { ! kill -0 "$1" 2>/dev/null || [[ $(ps -o stat= -p "$1") == Z* ]]; }
is_held() { [[ -n $(leasehold --json locks) ]]; }

# The tests' servers flush nothing to their disks, and are right to be warned of; so is a machine
# on which so many tests run that heartbeats are late.
drop_warnings() { # FILE
    sed -i -E '/warning: (PostgreSQL runs with fsync|innodb_flush_log|sync_binlog)/d
        /warning: no heartbeat got through for /d' "$1"
}

# expect STATUS STDERR COMMAND...: its exit status, and what the pattern says of standard error,
# which must be a single line or nothing. Standard output is kept in `out`.
expect() {
    local status=0 wanted=$1 pattern=$2
    shift 2
    "$@" >out 2>err || status=$?
    drop_warnings err
    ((status == wanted)) || fail "status $status, not $wanted, of: $* ($(cat err))"
    # shellcheck disable=SC2053 # a pattern
    [[ $(cat err) == $pattern ]] || fail "standard error of: $* is not '$pattern' but: $(cat err)"
    (($(wc -l <err) <= 1)) || fail "more than one line of standard error of: $*"
}
# expect_out PATTERN: of the last `expect`.
expect_out() {
    # shellcheck disable=SC2053
    [[ $(cat out) == $1 ]] || fail "standard output is not '$1' but: $(cat out)"
}
equal() { [[ $1 == "$2" ]] || fail "${3-}: '$1' is not '$2'"; }

# ended PROCESS STATUS: waits for a process of ours.
ended() {
    local status=0
    until_true 20 gone "$1" || fail "process $1 does not end"
    wait "$1" || status=$?
    equal "$status" "$2" "status of process $1"
}
