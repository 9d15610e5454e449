# shellcheck shell=bash disable=SC2034,SC2120
# The common parts of tests of `serve` and `top`, behind tests/cli/support.bash.

# Sets `url`, and `serving` to the process. At `address`.
address=127.0.0.1:0
serve() {
    : >served
    "${tool[@]}" serve --listen "$address" "$@" >served 2>served_err &
    serving=$!
    until_true 20 grep -q listening served || fail "serve does not begin: $(cat served_err)"
    drop_warnings served_err
    url=$(sed -n 's/^listening on //p' served)
}
stop_serving() {
    local began=${EPOCHREALTIME/[.,]/}
    kill -TERM "$serving"
    ended "$serving" 0
    ((${EPOCHREALTIME/[.,]/} - began < 3000000)) || fail 'serve did not end at once'
}
# The rows that the page shows: held keys, a waiter, a permit, the dead, runs, jobs of all states.
# The names and words of some look like HTML.
evil='<script>document.title="bad"</script>'
hold() { # KEY OPTION...
    rm -f held
    "${tool[@]}" lock "$@" --ttl 1m -- sh -c 'touch held; exec sleep 600' 2>/dev/null &
    holders+=("$!")
    until_true 20 test -e held || fail "nobody holds $1"
}
waits_for() { [[ $(leasehold --json locks --prefix "$1") == *'"waiters":1'* ]]; }
holders=()
let_go() {
    local each
    ((${#holders[@]} == 0)) || kill -TERM "${holders[@]}" 2>/dev/null
    for each in "${holders[@]}"; do
        until_true 20 gone "$each" || fail 'a holder does not end'
    done
}
trap 'let_go; finish' EXIT
fill() {
    expect 0 '' leasehold migrate --yes
    hold deploy/shop
    hold deploy/shop/database-of-a-customer-with-a-very-long-name/and-a-path-that-goes-on-and-on
    hold "evil/$evil"
    hold images/resize --permits 1 --of 3
    "${tool[@]}" lock deploy/shop --wait forever -- true 2>/dev/null &
    holders=("$!" "${holders[@]}")
    until_true 20 waits_for deploy/shop || fail 'nobody waits'
    leasehold once reports/nightly --cron '0 0 1 1 *' -- true || fail 'a run failed'
    leasehold once "reports/$evil" --cron '0 0 1 1 *' -- false 2>/dev/null
    leasehold job enqueue --queue mail --kind welcome '{"to":"ada"}' >/dev/null
    leasehold job enqueue --queue mail --kind welcome --delay 1d '{"to":"bob"}' >/dev/null
    leasehold job enqueue --queue "$evil" --kind "$evil" x >/dev/null
    leasehold job enqueue --queue calls --kind call --attempts 1 x >/dev/null
    leasehold job enqueue --queue calls --kind call --retry-delay 1d x >/dev/null
    leasehold work --queue calls --drain -- \
        sh -c "echo dialling >&2; echo '$evil: no such number' >&2; exit 1" 2>/dev/null
    leasehold queue pause "$evil" >/dev/null
    leasehold schedule add nightly --queue reports --cron '30 2 * * *' >/dev/null ||
        fail 'there is no schedule'
    by_hand <<<"UPDATE ${prefix}lock SET metadata = '${evil//\"/} and words, wise and otherwise'
WHERE lock_key = $(sql_key deploy/shop);"
}
# A key as the engine writes its bytes.
sql_key() {
    local digits
    digits=$(printf '%s' "$1" | od -An -v -tx1 | tr -d ' \n')
    if [[ $backend == postgres ]]; then echo "'\\x$digits'"; else echo "X'$digits'"; fi
}
# The URL of a place where no database is.
nowhere() {
    if [[ $backend == sqlite ]]; then
        echo "sqlite:$folder/none/test.db"
    else
        echo "${LEASEHOLD_URL/@*\//@127.0.0.1:1/}"
    fi
}
