# shellcheck shell=bash
# The place where a page of docs/guides runs: a folder for /, a database, and the commands of a
# machine that is not there. Sourced by `guide`, which knows these:
: "${backend:?}" "${leasehold:?}" "${project:?}" "${here:?}" "${folder:?}" "${root:?}"
# Set here: which blocks are meant, where the database is, and the user without rights there.
export dialect='' server_url='' worker_url='' worker=worker

make_place() {
    mkdir -p "$root/usr/local/bin" "$root/etc" "$root/var/lib" "$folder/bin" "$folder/home"
    ln -s "$leasehold" "$root/usr/local/bin/leasehold"
    mkdir -p "$folder/home/build/tool"
    ln -s "$(dirname "$leasehold")/../../examples" "$folder/home/build/tool/examples"
    for each in examples migrations schema; do ln -s "$project/$each" "$folder/home/$each"; done
    export HOME=$folder/home
    unset LEASEHOLD_URL LEASEHOLD_URL_FILE LEASEHOLD_TABLE_PREFIX LEASEHOLD_SCHEMA
    unset LEASEHOLD_BELL_ADDRESS LEASEHOLD_KEY LEASEHOLD_TOKEN LEASEHOLD_OWNER LEASEHOLD_TICK
    make_commands
    make_database
}

# Stands for commands that need a machine of their own, or root: units are checked, and run as
# systemd would.
make_commands() {
    # shellcheck disable=SC2016 # the script's own
    printf '#!/bin/sh\n[ "$1" != -u ] || shift 2\nexec "$@"\n' >"$folder/bin/sudo"
    {
        printf '#!/usr/bin/env bash\nset -euo pipefail\nunits=%q\n' "$root/etc/systemd/system"
        cat "$here/systemctl"
    } >"$folder/bin/systemctl"
    printf '#!/bin/sh\n' >"$folder/bin/chown" # there is no such user
    chmod +x "$folder"/bin/*
}

missing() { # SENTENCE
    echo "$1" >&2
    [[ ,${LEASEHOLD_REQUIRED_BACKENDS-}, != *,$backend,* ]] || exit 1
    exit 77
}

# A client is not installed where a quick run is on one engine; `guide` ends as skipped.
needs_client() { # COMMAND
    [[ -z $(type -P "$1") ]] || return 0
    echo "$1 is not installed" >&5
    [[ -z ${LEASEHOLD_REQUIRED_DOCS-} ]] || exit 1 # set where all is run
    exit 77
}

make_database() {
    local name server=LEASEHOLD_TEST_${backend^^}_URL
    name=guide_$(od -An -N4 -tx4 /dev/urandom | tr -d ' ')
    if [[ $backend == sqlite ]]; then
        dialect=sqlite server_url=sqlite:$folder/guide.db
        client() { needs_client sqlite3 && sqlite3 -bail "$folder/guide.db" <<<"$1"; }
        return 0
    fi
    [[ -n ${!server-} ]] || missing "$server is not set: run by tests/run, or set it"
    admin=${!server}
    server_url=${admin%/*}/$name
    worker_url=LEASEHOLD_TEST_${backend^^}_PROGRAM_URL
    worker_url=${!worker_url%/*}/$name worker=${worker_url#*://} worker=${worker%%:*}
    database=$name
    if [[ $backend == postgres ]]; then
        dialect=postgres
        needs_client psql
        psql --quiet "$admin" <<<"CREATE DATABASE $name"
        drop_database() { psql --quiet "$admin" <<<"DROP DATABASE $database WITH (FORCE)"; }
        client() { psql -X -q -v ON_ERROR_STOP=1 "$server_url" <<<"$1"; }
        return 0
    fi
    dialect=mysql
    needs_client mysql
    mysql_client "$admin" <<<"CREATE DATABASE $name"
    drop_database() { mysql_client "$admin" <<<"DROP DATABASE $database"; }
    client() { mysql_client "$server_url" <<<"$1"; }
    # It names no host that is there, and asks for a password.
    mysql() { mysql_client "$server_url"; }
}

mysql_client() { # URL: mysql://user:password@host:port/database
    local rest=${1#*://} user password host port
    user=${rest%%:*} rest=${rest#*:}
    password=${rest%%@*} rest=${rest#*@}
    host=${rest%%:*} rest=${rest#*:}
    port=${rest%%/*}
    MYSQL_PWD=$password command mysql --host="$host" --port="$port" --user="$user" \
        --default-character-set=utf8mb4 --skip-column-names --batch "${rest#*/}"
}
