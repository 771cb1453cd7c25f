"""Criteria, assessments, transitions. Pure: no I/O, and `now` is an argument. Read this room to check the promises.

1. A deterministic test is never quarantined: `onsets` counts only heads whose identical tree also passed, `entry`
   counts only onsets, and `transitions` reaches quarantined only from an entry that is met (or by a person's hand, but
   never from broken). `broken` is the state of a test that stopped passing.
2. At most B false quarantines are expected: `criteria` holds p0 and B, `stats.multiplicity` gives each pair its alpha,
   `stats.entry` proves that an entry spends no more of it, and `onsets` only ever drops onsets.
3. Leaving needs stronger evidence than entering: `criteria` refuses an `exit_ratio` of one or more, and `exit` is the
   only way out, besides the expiry of a quarantine by hand and a rule that keeps the test gating.
4. An agent cannot vote twice, be the majority or delay a release: one onset per change, two trunk onsets in every
   entry, a trunk head takes the slot over from an agent's (`onsets`, `entry`), and a flake that an agent's change
   brought in is held (`transitions`); `exit` reads trunk trials only.
5. A quarantined test still bites: `regressions` says after how many failed reruns in a row a failure is raised.
6. Crashes never look green: decided where builds are judged, not here; a storm (`storms`) changes no verdict either.
7. Every decision can be recomputed: each assessment carries its numbers, its sentence and, through `to_json`, its
   inputs and the policy; `evidence.recompute` compares. `Policy.version` goes with each transition.
8. Nothing is counted twice: heads and trials are numbered once, on arrival (`history`, and the store's transactions).
9. (What clients do while the daemon is away is the client's.)

Storms (`storms`), the cap (`cap`) and the wish list of reruns (`reruns`) bound the harm of what is not independent.
"""
