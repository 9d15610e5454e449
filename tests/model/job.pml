/* One job, two workers that claim, run and end it, the rescue of it, and a request to cancel it.
 * README.md says how to read it; `map` names the statements behind each `step:`. Each mutation, in
 * capitals behind BUG_, breaks one rule.
 */
#define WORKERS 2
#ifndef CLAIMS
#define CLAIMS 3 /* how often the job is claimed at most, so that the model is finite */
#endif
#define NOBODY WORKERS

/* The properties. They stay false, and a violation names the one that it breaks. A mutation looks
 * for the one that ONLY is; the others are true, which means that nothing asks for them.
 */
#ifdef ONLY
#define WITHOUT true
#else
#define WITHOUT false
#endif
bool one_effect = WITHOUT, one_runner = WITHOUT, stale_end = WITHOUT, cancel_kept = WITHOUT,
    reported_truly = WITHOUT, counted_once = WITHOUT;

/* ---- the database */

mtype = { available, running, waits_for_retry, completed, discarded, cancelled };
mtype state = available;   /* job row; completed, discarded, cancelled: there is none any more */
byte session = NOBODY;     /* job row: session_id */
byte token;
byte attempts, rescues;
bool is_cancel_requested;
bool is_locked;            /* a transaction that waits for its commit has the job row locked */

mtype = { live, expired };
mtype session_row[WORKERS] = live;
bool beating[WORKERS];     /* a heartbeat that was evaluated in time, and has not committed */

/* ---- what workers know */

byte runs[WORKERS];        /* the token of the claim whose handler runs; 0: none */
bool is_lost[WORKERS];     /* the local deadline of the session has passed */

byte late[WORKERS];        /* the token of an end that was sent, and has not arrived */
mtype late_to[WORKERS];

/* ---- what only the properties ask for */

mtype = { nothing, lost, unknown };
byte effects;                     /* transactions of complete_in that were committed */
mtype became[CLAIMS + 1] = nothing; /* by token: what the end of that attempt has made of the job */
bool is_counted[CLAIMS + 1];      /* by token: a report has counted that attempt */
bool requested;                   /* a request to cancel the running job was acknowledged */

#define has_ended (state == completed || state == discarded || state == cancelled)
#define goes_on(s) (s == available || s == waits_for_retry)
#define is_dead(w) (session_row[w] == expired && !beating[w])
#define others_are_dead(w) (runs[1 - (w)] == 0 || is_dead(1 - (w)))

inline take(w) {
    assert(one_runner || others_are_dead(w));
    state = running; session = w; token++; attempts++;
    is_cancel_requested = false; requested = false
}

/* An attempt ends, under the lock of the row, under this token. */
inline put(to, mine) {
    became[mine] = to; state = to; session = NOBODY; requested = false
}

#if defined(BUG_END_OF_ANY_TOKEN)
#define is_mine(w, mine) (state == running && session == w)
#elif defined(BUG_END_OF_ANY_SESSION)
#define is_mine(w, mine) (state == running)
#else
#define is_mine(w, mine) (state == running && session == w && token == mine)
#endif

/* A retry may have come due since. A queue without a history does not tell a discarded job from one
 * that was cancelled meanwhile. */
#define gave_up(s) (s == discarded || s == cancelled)
#define is_alike(a, b) (a == b || (goes_on(a) && goes_on(b)) || (gave_up(a) && gave_up(b)))

/* step: finish: locks the row, and tests its newest version */
inline finish(w, mine, to, answer) {
    if
    :: is_mine(w, mine) ->
        assert(stale_end || (token == mine && session == w));
        if
#ifdef BUG_CANCEL_FORGOTTEN
        :: true -> answer = to
#else
        :: is_cancel_requested && to != completed -> answer = cancelled
        :: !is_cancel_requested || to == completed -> answer = to
#endif
        fi;
        assert(cancel_kept || !requested || answer == completed || answer == cancelled);
        put(answer, mine)
    :: else -> answer = nothing
    fi
}

inline count_as(what) {
    assert(counted_once || !is_counted[mine]);
    is_counted[mine] = true;
    assert(reported_truly || what == unknown || (what == lost && became[mine] == nothing) ||
           is_alike(what, became[mine]))
}

proctype worker(byte w) {
    byte mine;
    mtype to, answer;
    bool was_sent, in_transaction;

next:
    atomic { mine = 0; to = nothing; answer = nothing; was_sent = false; in_transaction = false };
    if
    :: atomic { state == available && session_row[w] == live && token < CLAIMS -> skip }
        atomic { /* step: claim: locks the row or skips it, and tests again */
            if
#ifdef BUG_CLAIM_WITHOUT_RETEST
            :: !has_ended && token < CLAIMS -> take(w); mine = token
#else
            :: state == available && !is_locked && token < CLAIMS -> take(w); mine = token
#endif
            :: else
            fi };
        if
        :: mine == 0 -> goto next
        :: mine > 0
        :: atomic { mine > 0 -> goto next } /* the answer is lost */
        fi
#ifndef BUG_CLAIMS_NOT_SOUGHT
    :: atomic { state == running && session == w && !is_lost[w] && runs[w] == 0 ->
        mine = token } /* step: find_claims: a claim that no task of this worker knows */
#endif
    :: has_ended || is_lost[w] -> goto over
    fi;
    atomic { runs[w] = mine };

    /* The handler runs. Meanwhile the session may die, and others may rescue the job. */
    if
    :: to = completed
    :: to = (attempts >= CLAIMS -> discarded : waits_for_retry)
    :: to = available
    :: to = cancelled
    :: atomic { !is_locked -> /* step: complete_in: a change in the caller's transaction */
        if
#ifdef BUG_TRANSACTION_DOES_NOT_LOCK
        :: is_mine(w, mine)
#else
        :: is_mine(w, mine) -> is_locked = true
#endif
        :: else -> runs[w] = 0; goto refused
        fi }
        in_transaction = true; to = waits_for_retry;
        if
        :: atomic { /* the caller commits */
            effects++; assert(one_effect || effects == 1);
            assert(one_runner || others_are_dead(w));
            put(completed, mine); is_locked = false }
        :: is_locked = false /* or rolls back: that attempt has failed */
        fi
    fi;
    runs[w] = 0;

send:
    if
    :: atomic { !is_locked -> finish(w, mine, to, answer) }
#ifdef LATE
    :: atomic { !was_sent -> late[w] = mine; late_to[w] = to; was_sent = true; goto send }
#endif
    fi;
    if
    :: true
    :: atomic { !was_sent -> /* the answer is lost */
        was_sent = true; answer = nothing;
#ifdef BUG_COUNTED_WITHOUT_ANSWER
        count_as(unknown);
#endif
        goto send }
    fi;
    atomic { /* step: state_behind: what a report says of an end that found no claim */
        if
        :: answer != nothing -> count_as(answer)
        :: answer == nothing && in_transaction ->
#ifdef BUG_TRANSACTION_IS_BELIEVED
            count_as(completed)
#else
            if
            :: !is_lost[w] && !was_sent -> count_as(completed)
            :: !is_lost[w] && was_sent && token == mine && goes_on(state) -> count_as(state)
            :: else -> count_as(unknown)
            fi
#endif
        :: answer == nothing && !in_transaction && !was_sent -> count_as(lost)
        :: answer == nothing && !in_transaction && was_sent ->
            if
#ifdef BUG_RESENT_END_IS_LOST
            :: true -> count_as(lost)
#endif
#ifdef BUG_RESENT_END_IS_DONE
            :: true -> count_as(to)
#else
            /* Only an end takes a claim from a session that lives, and a history is not kept. */
            :: token == mine && goes_on(state) && (!is_lost[w] || state == waits_for_retry) ->
                count_as(state)
#ifdef BUG_RESCUE_COUNTS_AS_END
            :: token == mine && goes_on(state) && is_lost[w] -> count_as(to)
#else
            :: token == mine && goes_on(state) && is_lost[w] -> count_as(unknown)
#endif
            :: token == mine && state == running -> count_as(unknown)
            :: token == mine && has_ended && (goes_on(to) || is_lost[w]) -> count_as(unknown)
            :: token == mine && has_ended && !goes_on(to) && !is_lost[w] -> count_as(to)
            :: token != mine && !is_lost[w] -> count_as(to)
            :: token != mine && is_lost[w] -> count_as(unknown)
#endif
            fi
        fi };
    goto next;
refused:
    atomic { count_as(lost); goto next };
over:
    skip
}

#ifdef LATE
/* An end that its worker has given up, and that the server still carries out. */
proctype server(byte w) {
    mtype answer;
end:
    do
    :: atomic { late[w] != 0 && !is_locked ->
        finish(w, late[w], late_to[w], answer);
        answer = 0; late[w] = 0; late_to[w] = 0 }
    od
}
#endif

/* ---- a worker's session: one row, its heartbeats, the local deadline */

proctype session_of(byte w) {
end:
    do
    :: !is_lost[w] -> /* sent; it may arrive late */
        if
        :: atomic { session_row[w] == live -> beating[w] = true } /* step: heartbeat_test */
        :: session_row[w] == expired -> goto end
        fi;
        if
        :: atomic { assert(one_runner || session == w || runs[w] == 0 || token == runs[w]);
            session_row[w] = live; beating[w] = false } /* step: heartbeat_commit */
        :: beating[w] = false
        fi
    od
}

/* A session that was lost locally expires; one that renews itself in time may live for ever. */
proctype deadlines() {
end:
    do
    :: is_lost[0] = true
    :: is_lost[1] = true
    :: is_lost[0] = is_lost[0] /* neither */
    od
}

proctype clock() {
end:
    do
    :: atomic { is_lost[0] && session_row[0] == live -> session_row[0] = expired }
    :: atomic { is_lost[1] && session_row[1] == live -> session_row[1] = expired }
    od
}

/* ---- maintenance, by whoever has the turn */

#define RESCUES_MAX 2

proctype maintenance() {
    byte saw_session = NOBODY, saw_token;
end:
    do
#ifndef BUG_NOBODY_RESCUES
    :: atomic { state == running && session_row[session] == expired ->
        saw_session = session; saw_token = token } /* step: rescue_look: the snapshot */
        atomic { /* step: rescue_take: proves the death, locks the job, and tests again */
            if
#ifdef BUG_RESCUE_BY_PLAIN_READ
            :: session_row[saw_session] == expired &&
#else
            :: is_dead(saw_session) &&
#endif
#ifdef BUG_RESCUE_WITHOUT_RETEST
               state == running ->
#else
               !is_locked && state == running && token == saw_token && session == saw_session ->
#endif
                assert(one_runner || is_dead(session));
                rescues++; attempts--;
                if
#ifndef BUG_RESCUE_FORGETS_CANCEL
                :: is_cancel_requested -> state = cancelled
                :: !is_cancel_requested ->
#else
                :: true ->
#endif
                    assert(cancel_kept || !requested);
                    state = (rescues >= RESCUES_MAX -> discarded : available)
                fi;
                session = NOBODY; requested = false
            :: else
            fi;
            saw_session = NOBODY; saw_token = 0 }
#endif
    :: atomic { state == waits_for_retry && !is_locked -> state = available } /* step: promote */
    od
}

proctype canceller() {
    atomic { !is_locked -> /* step: cancel */
        if
        :: state == running -> is_cancel_requested = true; requested = true
        :: goes_on(state) -> state = cancelled
        :: else
        fi }
}

init {
    atomic {
#ifdef ONLY
        ONLY = false;
#endif
        run worker(0); run worker(1); run session_of(0); run session_of(1); run clock();
        run deadlines(); run maintenance();
#ifdef LATE
        run server(0); run server(1);
#endif
#ifdef CANCELS
        run canceller();
#endif
        skip
    }
}

/* No job stays with a worker that is lost, and none stays running for ever. */
ltl no_job_lost {
    [] ((state == running) -> <> (state != running))
}
