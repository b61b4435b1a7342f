"""Claims and what decides them: certificates, an independent checker, solvers, Coq, and PTX.

`specifications` states what each primitive is claimed to do, `prover` finds certificates, `checker`
accepts or rejects them knowing nothing else, `ptx` proves what was emitted, `bundle` checks it all
together and `report` says what was found.
"""
