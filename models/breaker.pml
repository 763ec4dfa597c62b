/* The breaker of src/policy/breaker.c: three callers, whose results may come late, be lost, say nothing or say that
 * time is up; a clock; a world that is well or not.
 *
 * Time is what is left of the open time or of the lease. Generations are compared for equality only, so that a new one
 * may have the name of one that nobody holds any more: that keeps their number finite. `stale` is the model's own
 * knowledge, which the breaker does not have: the breaker changed since this caller was admitted. */

#ifndef MUTANT
#define MUTANT 0
#endif
#define RESULT_OF_ANY_GENERATION (MUTANT == 1) /* a result is believed whenever it comes */
#define LEASE_WITHOUT_END (MUTANT == 2)        /* half-open waits for its probe, however long */
#define LEASE_IN_OLD_GENERATION (MUTANT == 3)  /* the next probe is told apart from the last by nothing */
#define HALF_OPEN_PASSES (MUTANT == 4)         /* half-open lets everybody through */
#define NEUTRAL_CLOSES (MUTANT == 5)           /* a cancelled probe is taken for a success */
#define TRIP_WITHOUT_TIME (MUTANT == 6)        /* open, and never due */

#define CALLERS 3
#define GENERATIONS 5 /* the callers', the current one, and a new one */
#define FAILURES 2    /* in a row that trip it */
#define LONGEST 2     /* ticks of an open time, a lease, or a Retry-After */

mtype = { closed, open, half_open };
mtype = { success, failure, neutral };

mtype state = closed;
byte generation = 0;
byte consecutive = 0;
byte left = 0;        /* open: until a probe is due; half-open: until its lease ends */
bool never_due = false;
bool well = true;     /* who is called answers, well, and in time */
bool out[CALLERS];    /* admitted, and has not come back */
bool probing[CALLERS];
bool stale[CALLERS];
byte held[CALLERS];   /* the generation it was admitted in */

#define due (left == 0 && !never_due)
#define passes (state == closed || (HALF_OPEN_PASSES && state == half_open))
#define may_probe (due && (state == open || (state == half_open && !LEASE_WITHOUT_END)))
#define admits (passes || may_probe)
#define probe_is_out(i) (out[i] && probing[i] && !stale[i])
#define any_probe_is_out (probe_is_out(0) || probe_is_out(1) || probe_is_out(2))
#define holds(i, g) (out[i] && held[i] == g)
#define is_taken(g) (g == generation || holds(0, g) || holds(1, g) || holds(2, g))

inline begin_generation() {
  byte next = 0;
  do
  :: is_taken(next) -> next++
  :: else -> break
  od;
  assert(next < GENERATIONS);
  generation = next;
  next = 0
}

inline enter(new_state) {
  state = new_state;
  stale[0] = out[0]; stale[1] = out[1]; stale[2] = out[2];
  begin_generation()
}

/* The open time: it depends on past outages, of which nothing is said here. */
inline open_again() {
  enter(open);
  select(left : 1 .. LONGEST);
  never_due = TRIP_WITHOUT_TIME
}

inline give_back(at_least) {
  enter(open);
  left = at_least
}

inline close_again() {
  enter(closed);
  consecutive = 0;
  left = 0
}

inline lease(me) {
  assert(!any_probe_is_out || left == 0);
  if
  :: LEASE_IN_OLD_GENERATION && state == half_open -> skip
  :: else -> enter(half_open)
  fi;
  left = LONGEST;
  /* One probe for a generation: nobody else is out under this one. */
  assert(!holds(0, generation) && !holds(1, generation) && !holds(2, generation))
}

inline record_closed(verdict) {
  if
  :: verdict == success -> consecutive = 0
  :: verdict == failure ->
     consecutive++;
     if
     :: consecutive >= FAILURES -> consecutive = 0; open_again()
     :: else
     fi
  :: verdict == neutral
  fi
}

inline record_probe(verdict) {
  if
  :: verdict == success || (NEUTRAL_CLOSES && verdict == neutral) ->
     assert(verdict == success); /* nothing else proves that the outage is over */
     close_again()
  :: verdict == failure -> open_again()
  :: else ->
     if
     :: give_back(0)
     :: give_back(LONGEST) /* a 429 says when */
     fi
  fi
}

inline record(me, verdict) {
  mtype before_state = state;
  byte before_left = left;
  bool late = stale[me];
  out[me] = false;
  if
  :: held[me] != generation && !RESULT_OF_ANY_GENERATION
  :: else ->
     if
     :: state == closed -> record_closed(verdict)
     :: state == half_open -> record_probe(verdict)
     :: state == open -> assert(RESULT_OF_ANY_GENERATION) /* nothing is admitted in an open generation */
     fi
  fi;
  /* What was admitted before a change neither closes, reopens, nor prolongs anything. */
  assert(!late || (state == before_state && left == before_left));
  stale[me] = false; probing[me] = false; held[me] = 0;
  before_state = closed; before_left = 0; late = false
}

active [CALLERS] proctype caller() {
  mtype verdict;
  do
  :: atomic {
       admits ->
       if
       :: passes -> probing[_pid] = false
       :: else -> lease(_pid); probing[_pid] = true
       fi;
       assert(state != half_open || HALF_OPEN_PASSES || probing[_pid]);
       assert(state != half_open || !any_probe_is_out);
       held[_pid] = generation; out[_pid] = true; stale[_pid] = false
     };
     if
     :: atomic { well -> verdict = success; record(_pid, verdict) }
     :: atomic { !well -> verdict = success; record(_pid, verdict) }
     :: atomic { !well -> verdict = failure; record(_pid, verdict) } /* or its time is up */
     :: atomic { !well -> verdict = neutral; record(_pid, verdict) }
     :: atomic { !well -> out[_pid] = false; stale[_pid] = false; probing[_pid] = false; held[_pid] = 0 } /* lost */
     fi;
     verdict = success
  od
}

/* A lease outlasts what its call may take, so that while all is well its end comes after the answer. */
active proctype clock() {
  do
  :: atomic { left > 0 && !(well && any_probe_is_out) -> left-- }
  /* The provider's timer; a caller that comes first need not wait for it. */
  :: atomic { state == half_open && left == 0 && !LEASE_WITHOUT_END && !(well && any_probe_is_out) -> give_back(0) }
  /* The upstream could not be started, or did not answer a ping: the outage goes on. */
  :: atomic { !well && state == open && due -> open_again() }
  od
}

active proctype world() {
  do
  :: well = true
  :: well = false
  od
}

/* Whatever becomes of probes, somebody is let through again. */
ltl never_stuck { [] <> admits }

/* Once all is well for good, every outage ends. */
ltl every_trip_can_close { (<> [] well) -> [] (state != closed -> <> (state == closed)) }
