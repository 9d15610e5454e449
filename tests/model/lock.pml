/* One key: its lock row, its waiters, and the sessions of its clients. README.md says how to read
 * it; `map` names the statements behind each `step:`. Each macro that a scenario of `check` sets
 * adds something that may happen; each mutation, in capitals behind BUG_, breaks one rule.
 *
 * Each atomic block is one moment of the database, or one of a client. Between two of them anything
 * else may happen, for as long as it likes: so every process may be paused anywhere.
 */
#ifndef CLIENTS
#define CLIENTS 2
#endif
#ifndef ROUNDS
#define ROUNDS 1 /* acquisitions of each client */
#endif
#ifndef MORTALS
#define MORTALS 0 /* the first so many sessions run out; the others live for ever */
#endif
#define OWNERS (CLIENTS * ROUNDS + 1)
#ifndef TTL
#define TTL 3
#endif
#define MARGIN 1

/* The properties. They stay false, and a violation names the one that it breaks. A mutation looks
 * for the one that ONLY is; the others are true, which means that nothing asks for them.
 */
#ifdef ONLY
#define WITHOUT true
#else
#define WITHOUT false
#endif
bool exclusion = WITHOUT, fencing = WITHOUT, tokens_grow = WITHOUT, told_before_lost = WITHOUT,
    owned = WITHOUT, resurrection = WITHOUT, told_of_force = WITHOUT;

/* ---- the database */

byte left[CLIENTS];    /* session row: ticks until expires_at; 0: expired */
bool beating[CLIENTS]; /* a heartbeat has locked the session row, and has not committed */
byte pending[CLIENTS]; /* what that heartbeat writes, counted from when it read the clock */
bool is_removed[CLIENTS]; /* there is no session row any more */
bool notice[CLIENTS];  /* session row: notices that the session has not looked into */

byte owner;            /* lock row: an owner id; 0: free */
byte fence;
byte mark;             /* lock row: last_ticket */
byte waiting[CLIENTS]; /* waiter row: its ticket; 0: no row */
byte tickets;          /* the source of tickets: the clock, in the statement */
byte proofs;           /* one bit for each client whose transaction has a share lock */
byte admitted;         /* fence_guard of some data */

/* ---- what clients know */

byte deadline[CLIENTS]; /* ticks until the session is lost locally; 0: lost, for ever */
byte promise[CLIENTS];  /* what the deadline becomes if the heartbeat under way is answered */
byte asked[CLIENTS];    /* the owner id that a call of the client acquires, releases or asks for */
byte held[CLIENTS];     /* the owner id of the lease that the client believes in */
bool has_news[CLIENTS]; /* the session has looked for its grants since the acquire was sent */
bool doubt[OWNERS];     /* in_doubt_requests */
bool crashed[CLIENTS];
mtype = { idle, sent, seen, answered };
mtype request[CLIENTS] = idle; /* the acquire that the server may still carry out */
byte wanted[CLIENTS];          /* its owner id */
byte got[CLIENTS];             /* its answer: a token, or 0 */

/* ---- what only the properties ask for */

byte highest;                /* of all tokens granted */
byte written;                /* the token of the last proved write */
byte forced;                 /* the owner id that was freed by force */
bool counted_dead[CLIENTS];  /* somebody has taken a key from this session */

#define session_of(o) (((o) - 1) / ROUNDS)
#define is_live(i) (deadline[i] > 0 && !crashed[i])

/* A locking read, that skips a row which a heartbeat has locked. A missing row counts as alive. */
#ifdef BUG_PLAIN_DEATH
#define is_dead(i) (left[i] == 0 && !is_removed[i])
#else
#define is_dead(i) (left[i] == 0 && !beating[i] && !is_removed[i])
#endif

#ifdef BUG_PROOFS_DO_NOT_LOCK
#define is_unlocked true
#else
#define is_unlocked (proofs == 0)
#endif
#define is_takeable (owner == 0 || is_dead(session_of(owner)))
#define looks_dead(i) (left[i] == 0 && !is_removed[i])
#define looks_takeable (owner == 0 || looks_dead(session_of(owner)))

inline grant(to) {
    if
    :: owner != 0 -> counted_dead[session_of(owner)] = true /* a hand-over ends its hold first */
    :: else
    fi;
#ifdef BUG_TOKEN_FROM_SNAPSHOT
    fence = drawn;
#else
    fence = fence + 1;
#endif
    assert(tokens_grow || fence > highest);
    highest = fence;
    owner = to
}

/* ---- the acquire of a client, as the server carries it out; its client may have given it up */

proctype server(byte i) {
    byte drawn;
end:
    do
    :: atomic { request[i] == sent -> /* step: acquire_look: `me`, and what the snapshot shows */
        drawn = fence + 1;
        if
#ifdef BUG_DEAD_TAKER
        :: looks_takeable -> request[i] = seen
#else
        :: left[i] > 0 && looks_takeable -> request[i] = seen
#endif
        :: else -> got[i] = 0; request[i] = answered
        fi }
    :: atomic { request[i] == seen -> /* step: acquire_take: locks the row, and tests again */
        if
#ifdef BUG_NO_RETEST
        :: is_unlocked -> grant(wanted[i]); got[i] = fence
#else
        :: is_unlocked && is_takeable -> grant(wanted[i]); got[i] = fence
#endif
        :: else -> got[i] = 0
        fi;
        drawn = 0; request[i] = answered }
    od
}

#include "session.pml"

/* ---- the queue of the key */

#ifdef QUEUE
#define is_behind(k, than) (waiting[k] > waiting[than])

/* What the statement's snapshot shows: the mark, all waiters, and those whose sessions live. */
inline look_at_queue() {
    snap_mark = mark; snap_all = 0; snap_live = 0;
    for (k : 0 .. CLIENTS - 1) {
        if
        :: waiting[k] > 0 -> snap_all = snap_all | (1 << k);
            if
            :: left[k] > 0 -> snap_live = snap_live | (1 << k)
            :: else
            fi
        :: else
        fi
    }
    k = 0
}

/* Under the lock of the lock row. Waiters that have left since the snapshot are passed over. */
inline grant_next() {
    first = CLIENTS;
    for (k : 0 .. CLIENTS - 1) {
        if
        :: waiting[k] > 0 && (snap_live & (1 << k)) && (first == CLIENTS || is_behind(first, k)) ->
            first = k
        :: else
        fi
    }
    /* The dead before it go. One that only looks dead stays, and so does the mark. */
    others = false;
    for (k : 0 .. CLIENTS - 1) {
        if
        :: k != first && (snap_all & (1 << k)) ->
            if
            :: waiting[k] > 0 && (first == CLIENTS || is_behind(first, k)) && is_dead(k) ->
                waiting[k] = 0
            :: else -> others = true
            fi
        :: else
        fi
    }
    if
    :: first < CLIENTS ->
#ifdef BUG_HANDS_OVER_TO_NOBODY
        owner = 0;
#else
        grant(asked[first]);
#endif
        waiting[first] = 0
    :: else -> owner = 0
    fi;
    mark = (others -> mark : 0);
    others = false; first = 0; k = 0; snap_mark = 0; snap_all = 0; snap_live = 0
}

#ifdef BUG_UNSURE
#define is_sure true
#else
#define is_sure (mark == snap_mark)
#endif
#endif

/* ---- a thread that acquires, writes and releases */

proctype client(byte i) {
    byte round, token, drawn;
#ifdef QUEUE
    byte snap_mark, snap_all, snap_live, first, k;
    bool others, takeable;
#endif

next:
    atomic {
        token = 0;
        if
        :: round < ROUNDS && is_live(i) && request[i] == idle ->
            round++; asked[i] = i * ROUNDS + round; wanted[i] = asked[i];
            request[i] = sent; has_news[i] = false
        :: round == ROUNDS || !is_live(i) -> asked[i] = 0; held[i] = 0; goto over
        fi
    }
    if
    :: atomic { request[i] == answered && is_live(i) ->
        token = got[i]; got[i] = 0; request[i] = idle; wanted[i] = 0;
        if
        :: token > 0 -> goto granted
        :: else -> goto refused
        fi }
#ifdef LOST
    :: atomic { true -> /* no answer: lost, or not waited for any more */
        if
        :: request[i] == answered -> request[i] = idle; got[i] = 0
        :: else
        fi }
        goto ask
#endif
    :: !is_live(i) -> goto gone
    fi;

#ifdef LOST
ask:
    if
    :: atomic { owner == asked[i] && is_live(i) -> /* step: find_grants */
        token = fence; goto granted }
    :: atomic { owner != asked[i] || !is_live(i) ->
        doubt[asked[i]] = true; asked[i] = 0; goto forget }
    :: atomic { doubt[asked[i]] = true; asked[i] = 0; goto forget } /* no answer either */
    fi;
forget: /* An answer that comes now goes to nobody. */
    atomic { request[i] == answered || request[i] == idle ->
        request[i] = idle; got[i] = 0; wanted[i] = 0; goto next };
#endif

refused:
#ifdef QUEUE
    atomic {
        if
        :: is_unlocked && left[i] > 0 -> /* step: enqueue */
            tickets++; mark = tickets; waiting[i] = tickets;
            takeable = is_takeable
        :: else -> asked[i] = 0; goto next
        fi
    };
    if
#ifndef BUG_NOT_SERVED_AT_ONCE
    :: takeable -> goto serve
#endif
    :: else
    fi;
waits:
    if
    :: atomic { owner == asked[i] && is_live(i) -> token = fence; goto granted } /* step: look */
#if defined(LOOKS) && !defined(BUG_NOBODY_LOOKS)
    :: atomic { waiting[i] > 0 && looks_takeable && is_live(i) -> goto serve }
    :: !is_live(i) -> goto gone
#endif
#ifdef LEAVES
    :: atomic { waiting[i] > 0 && i != 1 -> /* step: leave; client 1 waits for ever */
        waiting[i] = 0; asked[i] = 0; goto next }
#endif
    fi;
serve: /* step: serve: the snapshot, then what it locks */
    atomic { takeable = false; look_at_queue() };
    atomic {
        if
        :: is_unlocked && is_takeable && is_sure -> grant_next()
        :: is_unlocked && is_takeable && !is_sure -> goto serve
        :: else
        fi;
        goto waits
    };
#else
    atomic { asked[i] = 0; goto next };
#endif

granted:
    atomic {
        held[i] = asked[i]; asked[i] = 0;
        notice[i] = notice[i] || has_news[i]; has_news[i] = false /* must_ask */
    };
#ifdef PROOFS
    do
    :: atomic { true -> /* step: prove */
        if
#ifdef BUG_PROOF_OF_NOTHING
        :: true -> proofs = proofs | (1 << i)
#else
        :: owner == i * ROUNDS + round && fence == token -> proofs = proofs | (1 << i)
        :: else -> held[i] = 0; goto gone
#endif
        fi }
        if
        :: atomic { /* the caller commits what it has written */
            assert(fencing || (owner == i * ROUNDS + round && fence == token));
            assert(fencing || written <= token);
            written = token; proofs = proofs & ~(1 << i) }
        :: proofs = proofs & ~(1 << i) /* or rolls back */
        fi
    :: atomic { true -> /* step: admit: data that has a fence of its own, wherever it is */
        if
#ifdef BUG_ADMITS_ALL
        :: true -> assert(fencing || admitted <= token); admitted = token
#else
        :: admitted <= token -> assert(fencing || admitted <= token); admitted = token
        :: else
#endif
        fi }
    :: break
    od;
#endif
#ifdef CRASHES
    if
    :: i < MORTALS -> atomic { crashed[i] = true; held[i] = 0; goto over }
    :: true
    fi;
#endif
    atomic { held[i] = 0; asked[i] = i * ROUNDS + round };

release:
    if
    :: atomic { is_unlocked && is_live(i) -> /* step: release */
        if
#ifdef BUG_RELEASES_ANY
        :: owner != 0 -> owner = 0
#elif defined(BUG_RELEASE_IGNORES_MARK)
        :: owner == asked[i] && fence == token -> owner = 0
#else
        :: owner == asked[i] && fence == token && mark == 0 -> owner = 0
#endif
#ifdef QUEUE
        :: owner == asked[i] && fence == token && mark != 0 -> goto pass_on
#endif
        :: else
        fi }
#ifdef LOST
        if
        :: goto release /* the answer was lost, and it is sent again */
        :: true
        fi
#ifdef BUG_RELEASE_FORGOTTEN
    :: atomic { true -> asked[i] = 0; goto next } /* lost on its way, and not sent again */
#endif
#endif
    :: !is_live(i) -> goto gone
    fi;
    atomic { asked[i] = 0; goto next };

#ifdef QUEUE
pass_on: /* step: pass_on: the snapshot, then the change */
    atomic { look_at_queue() };
    atomic {
        if
        :: is_unlocked && owner == asked[i] && fence == token ->
            first = CLIENTS;
            for (k : 0 .. CLIENTS - 1) {
                if
                :: (snap_all & (1 << k)) && (first == CLIENTS || is_behind(first, k)) -> first = k
                :: else
                fi
            }
            if
            :: first < CLIENTS && waiting[first] > 0 && (snap_live & (1 << first)) &&
               (mark == waiting[first] || (snap_all & ~(1 << first))) ->
                mark = (mark == waiting[first] -> 0 : mark);
                owner = 0; grant(asked[first]); waiting[first] = 0; asked[i] = 0;
                first = 0; k = 0; snap_mark = 0; snap_all = 0; snap_live = 0; goto next
            :: else -> first = 0; k = 0
            fi
        :: else -> asked[i] = 0; goto next
        fi
    };
hand_over: /* step: hand_over: a snapshot of its own, then the locked row */
    atomic { look_at_queue() };
    atomic {
        if
        :: is_unlocked && owner == asked[i] && fence == token && is_sure ->
            owner = 0; grant_next(); asked[i] = 0; goto next
        :: is_unlocked && owner == asked[i] && fence == token && !is_sure -> goto hand_over
        :: is_unlocked && !(owner == asked[i] && fence == token) -> asked[i] = 0; goto next
        fi
    };
#endif

gone: /* The session is lost: its row ends, and with it whatever it holds. */
    atomic { held[i] = 0; asked[i] = 0; token = 0 };
over:
    skip
}

#ifdef FORCE
proctype operator() {
    atomic { owner != 0 && !is_dead(session_of(owner)) && !beating[session_of(owner)] &&
#ifdef BUG_FORCES_PAST_PROOFS
        true -> /* step: force_release */
#else
        is_unlocked ->
#endif
        fence++; highest = fence; notice[session_of(owner)] = true; forced = owner; owner = 0 }
}
#endif

#ifdef REAPER
/* It frees what a session holds before it removes the row, and waits for longer than any statement
 * of the session can be under way.
 */
proctype reaper() {
    atomic { left[0] == 0 && !beating[0] && request[0] != seen && waiting[0] == 0 ->
        if
        :: owner != 0 && session_of(owner) == 0 -> owner = 0 /* step: free_lock */
        :: else
        fi;
        is_removed[0] = true } /* step: remove_session */
}
#endif

#ifdef FORK
/* A child of client 0 has the handle. What it calls is refused there: it sends nothing. */
proctype child() {
#ifdef BUG_CHILD_RELEASES
    atomic { held[0] != 0 && owner == held[0] -> owner = 0 }
#endif
    skip
}
#endif

/* ---- the properties that hold at each moment */

#define believes(i) (held[i] != 0 && deadline[i] > 0 && !crashed[i] && held[i] != forced)
#define is_answered_for(i) (held[i] == owner || asked[i] == owner || doubt[owner])

proctype monitor() {
    byte i;
end:
    do
    :: atomic { believes(0) && owner != held[0] -> assert(exclusion) }
    :: atomic { believes(1) && owner != held[1] -> assert(exclusion) }
    :: atomic { believes(0) && left[0] == 0 -> assert(told_before_lost) }
    :: atomic { owner != 0 && is_live(session_of(owner)) && left[session_of(owner)] > 0 &&
                !is_answered_for(session_of(owner)) -> assert(owned) }
    :: atomic { owner != 0 && is_removed[session_of(owner)] -> assert(owned) }
    od
}

init {
    byte i;
    atomic {
#ifdef ONLY
        ONLY = false;
#endif
        for (i : 0 .. CLIENTS - 1) {
            left[i] = TTL; deadline[i] = TTL - MARGIN;
            run client(i); run server(i)
        }
#if MORTALS > 0
        run clock();
#endif
#if MORTALS > 0 || defined(LOST)
        for (i : 0 .. CLIENTS - 1) { run heartbeat(i) }
#endif
#ifdef FORCE
        run operator();
#endif
#ifdef REAPER
        run reaper();
#endif
#ifdef FORK
        run child();
#endif
        i = 0;
        run monitor()
    }
}

#ifdef QUEUE
/* A waiter gets the key, or leaves, or its session ends. */
ltl no_lost_hand_over {
    [] ((waiting[1] > 0) -> <> (waiting[1] == 0 || deadline[1] == 0))
}
#endif
