/* ---- the thread of a session: heartbeats, requests in doubt, the end */

#define in_doubt(i, r) doubt[(i) * ROUNDS + (r)]
#ifdef BUG_SETTLES_ONCE
#define may_come(o, i) false
#else
/* A statement whose client has given up may go on in the server until in_doubt_duration is over. */
#define may_come(o, i) (wanted[i] == o && request[i] != idle)
#endif

inline settle(i, o) {
    atomic { doubt[o] && is_unlocked && !crashed[i] -> /* step: release_owner */
        doubt[o] = may_come(o, i);
        if
        :: owner == o -> owner = 0
        :: else
        fi }
}

inline beat(i) {
    atomic { is_live(i) -> promise[i] = TTL - MARGIN };
    if
#ifdef BUG_REVIVES
    :: atomic { !notice[i] ->
#else
    :: atomic { left[i] > 0 && !notice[i] ->
#endif
        assert(told_of_force || forced == 0 || held[i] != forced);
        beating[i] = true; pending[i] = TTL } /* step: heartbeat_test: under the row's lock */
        if
        :: atomic { beating[i] = false; /* step: heartbeat_commit */
            left[i] = pending[i]; pending[i] = 0;
            assert(resurrection || left[i] == 0 || !counted_dead[i]) }
            if
            :: atomic { is_live(i) ->
#ifdef BUG_DEADLINE_FROM_ANSWER
                deadline[i] = TTL - MARGIN;
#else
                deadline[i] = (promise[i] > deadline[i] -> promise[i] : deadline[i]);
#endif
                promise[i] = 0 }
            :: promise[i] = 0 /* the answer is lost, or late */
            fi
        :: atomic { beating[i] = false; pending[i] = 0; promise[i] = 0 } /* it is rolled back */
        fi
    :: atomic { left[i] > 0 && notice[i] -> /* step: news */
        notice[i] = false; has_news[i] = true; promise[i] = 0 }
        atomic {
            if
#ifndef BUG_NEWS_IGNORED
            :: held[i] != 0 && owner != held[i] -> held[i] = 0 /* step: standings */
#endif
            :: else
            fi }
    :: atomic { left[i] == 0 -> deadline[i] = 0; promise[i] = 0 }
    fi
}

proctype heartbeat(byte i) {
end:
    do
    :: i < MORTALS -> beat(i)
    :: settle(i, i * ROUNDS + 1)
#if ROUNDS > 1
    :: settle(i, i * ROUNDS + 2)
#endif
    :: atomic { deadline[i] == 0 && left[i] > 0 && !crashed[i] -> left[i] = 0 } /* step: end */
    od
}

/* The database's clock and the clients' go alike; MARGIN stands for what they differ. */
inline sink(what) {
    if
    :: what > 0 -> what = what - 1
    :: else
    fi
}

proctype clock() {
    byte i;
end:
    do
    :: d_step {
        for (i : 0 .. MORTALS - 1) {
            sink(left[i]); sink(pending[i]); sink(deadline[i]); sink(promise[i])
        }
        i = 0 }
    od
}
