# bash completion for leasehold: commands and options; files and commands after `lock … --` and the like.
_leasehold() {
    local word=${COMP_WORDS[COMP_CWORD]} at command=''
    for ((at = 1; at < COMP_CWORD; ++at)); do
        case ${COMP_WORDS[at]} in
            --)
                [[ $command == lock || $command == elect || $command == once || $command == work ]] || return
                # The rest is a command line of its own.
                if declare -F _command_offset >/dev/null; then
                    _command_offset $((at + 1))
                else
                    mapfile -t COMPREPLY < <(compgen -c -- "$word")
                fi
                return
                ;;
            --url | --url-file | --table-prefix | --schema | --bell-address) ((++at)) ;;
            -*) ;;
            *) [[ -n $command && ! $command =~ ^(migrate|job|queue)$ ]] || command+=${command:+ }${COMP_WORDS[at]} ;;
        esac
    done
    local global='--url --url-file --pass-url --json --table-prefix --schema --bell-address --help --version' more=''
    case $command in
        '') more='migrate lock elect once locks runs sessions unlock job queue work reap serve top bench' ;;
        migrate) more='up down status sql --to --resume --yes' ;;
        'migrate up') more='--to --resume --yes' ;;
        'migrate down') more='--to' ;;
        'migrate sql') more='--engine --from --to --down --grants' ;;
        lock)
            more='--key --wait --ttl --lock-delay --shared --exclusive --permits --of --quiet'
            more+=' --busy-status --lost-status --until-all-exit --'
            ;;
        elect) more='--name --ttl --lost-status --until-all-exit --' ;;
        once)
            more='--name --per --cron --tz --at-least --at-most --ttl --early --no-repeat --quiet'
            more+=' --busy-status --lost-status --until-all-exit --'
            ;;
        job) more='enqueue list show retry cancel' ;;
        'job enqueue')
            more='--queue --kind --priority --delay --run-at --unique-key --on-conflict'
            more+=' --ordering-key --attempts --retry-delay --time-limit --file'
            ;;
        'job list') more='--queue --state --after --limit' ;;
        queue) more='stats pause resume limit' ;;
        'queue limit')
            more='--running --per-key --starts --per --keep-completed --keep-discarded'
            more+=' --keep-cancelled'
            ;;
        work)
            more='--queue --kind --concurrency --prefetch --drain --ttl --poll --drain-for'
            more+=' --stop-within --'
            ;;
        runs) more='--prefix --forget' ;;
        locks) more='--prefix' ;;
        serve) more='--listen --allow-host --actions --token-file' ;;
        top) more='--interval --once' ;;
        unlock) more='--key --force --ask' ;;
        bench) more='--only --threads --waiters --batches --repetitions --time --svg --clean-up' ;;
        reap) more='--session-retention --lock-retention' ;;
    esac
    mapfile -t COMPREPLY < <(compgen -W "$global $more" -- "$word")
}
complete -F _leasehold leasehold
