/* Dead letters: written, replayed, and through crashes (src/store/{writer,letters,recovery}.c, src/gateway/{intent,
 * letter,replay,replay_letter}.c).
 *
 * Two gateways on one database, each of which may be killed at any step and is then started again as another owner.
 * The machine may lose power: then both are dead, and of the database there is what was durable. One unsafe call is
 * made, once; its letter may be replayed by both gateways, several times, even at once. A server runs what it was sent,
 * or provably does not, or nobody knows.
 *
 * `seen` is what is committed: every process reads it. `disk` is what a loss of power leaves of it. A durable commit
 * syncs all that came before it; the system may do so by itself at any time. */

#ifndef MUTANT
#define MUTANT 0
#endif
#define LETTER_NOT_SYNCED (MUTANT == 1)         /* the client hears an id that a loss of power may take back */
#define LIVING_ARE_RECOVERED (MUTANT == 2)      /* nobody asks whether the owner is dead */
#define MARK_OVER_MARK (MUTANT == 3)            /* to begin a replay is no compare-and-set */
#define NO_SECOND_LOOK (MUTANT == 4)            /* what the letter said before the mark is believed after it */
#define RECOVERED_AS_NOT_RUN (MUTANT == 5)      /* a replay that died is taken for one that never was */
#define SETTLED_BEFORE_BURIED (MUTANT == 6)     /* the intent ends in a transaction before that of the letter */
#define REPLAY_INTENT_IS_A_LETTER (MUTANT == 7) /* given back, and its call's intent buried as well: twice */
#define MARK_NOT_SYNCED (MUTANT == 8)           /* a loss of power takes back that it was being replayed */
#define REPLAY_LEAVES_INTENT (MUTANT == 9)      /* what a replay came to leaves the intent of its call open */

#define GATEWAYS 2
#define OWNERS 4  /* lives of gateways */
#define REPLAYS 2 /* that are asked for */
#define LOSSES 1  /* of power */
#define NOBODY OWNERS

mtype = { absent, dead, replaying, replayed };

typedef database {
  mtype letter;        /* its status */
  byte letters;        /* how many rows there are for the one call */
  bool maybe;          /* the letter's `executed`: may have run; else it has not */
  byte replayer;       /* the owner that replays it */
  bool intent[OWNERS + 1]; /* of the call */
  bool again[OWNERS + 1];  /* of a replay's call */
};

database seen, disk;
bool alive[OWNERS + 1];      /* holds its lock */
byte next_owner = 0;
bool called = false;     /* the call was made */
byte replays = REPLAYS;
byte losses = LOSSES;
bool heard = false;      /* the client knows the letter's id */
byte loose = 0;          /* sent, and not proven not to run: run, or may yet */
bool owed = false;       /* the call may run, its intent was written, and nobody has told its client how it ended */

inline copy(from, to) {
  to.letter = from.letter; to.letters = from.letters; to.maybe = from.maybe;
  to.replayer = from.replayer;
  to.intent[0] = from.intent[0]; to.intent[1] = from.intent[1];
  to.intent[2] = from.intent[2]; to.intent[3] = from.intent[3];
  to.again[0] = from.again[0]; to.again[1] = from.again[1];
  to.again[2] = from.again[2]; to.again[3] = from.again[3];
  assert(!heard || to.letters == 1) /* a letter whose id was told is there, once, whatever happens */
}

inline sync() { copy(seen, disk) }

/* hf_database_add_letter: an equal one that is dead, or that this call replays, is not written twice. */
inline add_letter(may_have_run, by) {
  if
  :: seen.letter == dead || (seen.letter == replaying && seen.replayer == by) ->
     seen.maybe = seen.maybe || may_have_run
  :: else ->
     seen.letters++; seen.maybe = may_have_run
  fi;
  seen.letter = dead; seen.replayer = NOBODY;
  assert(seen.letters == 1)
}

/* hf_database_recover_owner, within a transaction */
inline recover_owner(o) {
  assert(!alive[o]);
  if
  :: seen.letter == replaying && seen.replayer == o ->
     seen.letter = dead; seen.replayer = NOBODY;
     if
     :: !RECOVERED_AS_NOT_RUN -> seen.maybe = true
     :: else
     fi;
     if
     :: REPLAY_INTENT_IS_A_LETTER && seen.again[o] -> seen.letters++
     :: else
     fi;
     seen.again[o] = false
  :: else
  fi;
  if
  :: seen.intent[o] || seen.again[o] -> add_letter(true, NOBODY)
  :: else
  fi;
  seen.intent[o] = false; seen.again[o] = false;
  assert(seen.letters <= 1)
}

#define left_something(o) (seen.intent[o] || seen.again[o] || (seen.letter == replaying && seen.replayer == o))
#define lies(o) (o < next_owner && (!alive[o] || (LIVING_ARE_RECOVERED && o != me)) && left_something(o))
#define somebody_lies (lies(0) || lies(1) || lies(2) || lies(3))

/* hf_database_recover: who is dead is asked again inside the transaction. */
inline look() {
  d_step {
    victim = 0;
    do
    :: victim < OWNERS && lies(victim) -> recover_owner(victim); victim++
    :: victim < OWNERS && !lies(victim) -> victim++
    :: else -> break
    od;
    victim = 0;
    sync()
  }
}

/* No effect twice: what is sent must not have been sent before, unless that has provably not run. */
inline send() {
  atomic { assert(loose == 0); loose++ }
}

inline bury(may_have_run) {
  if
  :: SETTLED_BEFORE_BURIED -> seen.intent[me] = false; seen.again[me] = false
  :: else
  fi;
  if
  :: d_step {
       alive[me] ->
       add_letter(may_have_run, me);
       seen.intent[me] = false; seen.again[me] = false;
       if
       :: !LETTER_NOT_SYNCED -> sync()
       :: else
       fi
     };
     buried = true
  :: buried = false /* the disk is full: nothing of it is written */
  fi
}

inline make_call() {
  if
  :: d_step { seen.intent[me] = true; owed = true }
  :: skip /* the store is too slow to be waited for */
  fi;
  send();
  if
  :: d_step { seen.intent[me] = false; owed = false } /* answered */
  :: d_step { loose--; owed = false }; /* refused by the server */
     bury(false);
     if
     :: buried -> hear()
     :: else -> seen.intent[me] = false
     fi
  :: true -> /* nobody knows */
     bury(true);
     if
     :: buried -> hear()
     :: else /* the intent stays, for who finds this owner dead */
     fi
  fi;
  buried = false
}

inline hear() {
  atomic { heard = true; assert(disk.letters == 1) }
}

/* hf_database_change to REPLAYING: only one can win. */
inline mark() {
  d_step {
    alive[me] ->
    if
    :: seen.letter == replaying && seen.replayer != me && !alive[seen.replayer] ->
       victim = seen.replayer; recover_owner(victim); victim = 0
    :: else
    fi;
    if
    :: seen.letter == dead || (MARK_OVER_MARK && seen.letter == replaying) ->
       seen.letter = replaying; seen.replayer = me; marked = true
    :: else -> marked = false
    fi;
    if
    :: marked && !MARK_NOT_SYNCED -> sync()
    :: else
    fi
  }
}

/* hf_database_change to what it became. The disk may be full: then it stays marked as long as its owner lives. */
inline become(status, may_have_run) {
  if
  :: d_step {
       alive[me] ->
       if
       :: seen.letter == replaying && seen.replayer == me ->
          seen.letter = status; seen.replayer = NOBODY; seen.maybe = may_have_run;
          if
          :: !REPLAY_LEAVES_INTENT -> seen.again[me] = false
          :: else
          fi;
          sync()
       :: else
       fi
     }
  :: skip
  fi
}

inline call_again() {
  if
  :: seen.again[me] = true
  :: skip
  fi;
  send();
  if
  :: seen.again[me] = false;
     become(replayed, true)
  :: loose--;
     if
     :: true -> bury(false)
     :: buried = false
     fi;
     if
     :: !buried -> seen.again[me] = false; become(dead, false)
     :: else
     fi
  :: true ->
     bury(true);
     if
     :: !buried -> become(dead, true)
     :: else
     fi
  fi;
  buried = false
}

inline replay() {
  was_dead = seen.letter == dead && !seen.maybe;
  if
  :: !was_dead /* refused: it may have run, or is no dead letter */
  :: else ->
     if
     :: mark()
     :: marked = false /* the disk is full */
     fi;
     if
     :: marked ->
        /* Between the look and the mark another may have replayed it: then it may have run, whatever it said. */
        as_it_was = !seen.maybe;
        if
        :: as_it_was || NO_SECOND_LOOK -> call_again()
        :: else -> become(dead, seen.maybe)
        fi
     :: else
     fi
  fi;
  marked = false; was_dead = false; as_it_was = false
}

proctype gateway() {
  byte me, victim;
  bool buried, marked, was_dead, as_it_was;
end_dead:
  atomic {
    next_owner < OWNERS ->
    me = next_owner; next_owner++;
    alive[me] = true;
    victim = 0; buried = false; marked = false; was_dead = false; as_it_was = false
  };
  {
end_idle:
    do
    :: somebody_lies -> look()
    :: atomic { !called -> called = true }; make_call()
    :: atomic { replays > 0 && seen.letter != absent -> replays-- }; replay()
    od
  } unless { !alive[me] };
  goto end_dead
}

#define any_intent (seen.intent[0] || seen.intent[1] || seen.intent[2] || seen.intent[3])

/* The last life is not taken, so that somebody is there to find what the others left. What is killed must leave an
 * intent or a letter behind if its call may have run. A loss of power may take an intent, but no letter. */
inline die(o) {
  alive[o] = false;
  assert(!owed || any_intent || seen.letters == 1)
}

#define may_die(o) (next_owner < OWNERS && alive[o])

proctype killer() {
end_kill:
  do
  :: d_step { may_die(0) -> die(0) }
  :: d_step { may_die(1) -> die(1) }
  :: d_step { may_die(2) -> die(2) }
  :: d_step {
       losses > 0 && next_owner + GATEWAYS <= OWNERS ->
       losses--; owed = false;
       alive[0] = false; alive[1] = false; alive[2] = false; alive[3] = false;
       copy(disk, seen)
     }
  od
}

#define differs(o) (seen.intent[o] != disk.intent[o] || seen.again[o] != disk.again[o])
#define anything_differs                                                                                             \
  (seen.letter != disk.letter || seen.letters != disk.letters || seen.maybe != disk.maybe ||                         \
   seen.replayer != disk.replayer || differs(0) || differs(1) || differs(2) || differs(3))

proctype system() {
end_sync:
  do
  :: d_step { anything_differs -> sync() }
  od
}

init {
  atomic {
    seen.letter = absent; disk.letter = absent;
    seen.replayer = NOBODY; disk.replayer = NOBODY;
    alive[NOBODY] = true;
    run gateway(); run gateway(); run killer(); run system()
  }
}

#define open_end(o) (o < next_owner && !alive[o] && left_something(o))

/* What a dead owner left open becomes a letter, or is a dead letter again. */
ltl nothing_stays_open {
  [] (open_end(0) -> <> !open_end(0)) && [] (open_end(1) -> <> !open_end(1)) && [] (open_end(2) -> <> !open_end(2))
}
