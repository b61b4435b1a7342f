"""Every mutant of kernels of every kind: refused, or shown by the machine to do nothing wrong.

    export TYLO_PTX=build/ptx
    python tests/support/softmax_sweep.py --compile
    python tests/support/softmax_sweep.py --processes 32 --seconds 500 --out s.json
    python tests/support/softmax_sweep.py --table s.json t.json

The first keeps the PTX of all kinds, for machines without a compiler. The second goes on where the
file ends that is there; what a limit cut off is left for the next run. The third prints what files
say together: of each kind the mutants of distinct text, how many were judged, and what became of
them. A mutant comes to one letter:

R  refused: an obligation fails, or the text is not covered
U  undecided within the solver's limit of work, which counts as refused
=  accepted, and the machine leaves bit for bit what the kernel itself leaves, on random inputs
E  accepted, and right by the effect, though other values are computed
W  accepted, and wrong
-  not judged yet

First come mutants of every instruction, one of each, whose changes are in turn those that the same
opcode has had the fewest of; then one for each opcode and kind of change that had none; then a
second one of each instruction, until all are judged.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import random
import re
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from itertools import accumulate
from pathlib import Path
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # a process a processor

import mutant_kinds
from mutant_sweep import Prover, limited, settled
from ptx_mutants import PtxMutant, mutants

_SEED = 5
_TURNS = (1, 2, 3, 5, 9)  # after which the next kind has its turn
_PIECE = 50  # mutants that a process takes
_SECONDS = 30  # of a processor for what the proof says of one mutant

_OPCODE = re.compile(r"^[\s{]*(@!?%\w+\s+)?")

Found = dict[str, dict[str, Any]]


@dataclass(eq=False)
class Warm:
    """A kind that is known to be right, and what was asked about it."""

    name: str
    kind: mutant_kinds.Kind
    prover: Prover
    seconds: float

    @classmethod
    def up(cls, name: str) -> Warm:
        kind = mutant_kinds.EVERY[name]()
        prover = kind.prover()
        started = time.process_time()
        assert kind.right(kind.ptx), name
        seconds = time.process_time() - started
        assert kind.alike(kind.ptx, 0), name
        assert prover.verdict(kind.ptx) == "accepted", name
        return cls(name, kind, prover, seconds)

    def letter(self, number: int, mutant: PtxMutant) -> str:
        """What becomes of one mutant."""
        try:
            with limited(_SECONDS):
                verdict = self.prover.verdict(mutant.text, patient=False)
        except TimeoutError:
            verdict = "undecided"
        if verdict != "accepted":
            return verdict[0].upper()
        for letter, judge in (
            ("=", lambda text: self.kind.alike(text, number)),
            ("E", self.kind.right),
        ):
            if settled(judge, mutant.text, 1 + 4 * self.seconds):
                return letter
        return "W"


def opcode(line: str) -> str:
    """The name of the instruction in a line, without its guard."""
    return _OPCODE.sub("", line).split(maxsplit=1)[0]


def numbered(ptx: str) -> tuple[list[list[int]], list[int]]:
    """The numbers of mutants of distinct text, turn by turn; and the first for each pair of an
    opcode and a kind of change.

    In the first turn each instruction has one. In the second each opcode has one of each kind of
    change that it had none of. In later ones each instruction that has some left has one.
    """
    seen = {sha256(ptx.encode()).digest()}
    text, by_line = ptx.splitlines(), dict[int, list[tuple[str, int]]]()
    for number, mutant in enumerate(mutants(ptx, seed=1)):
        digest = sha256(mutant.text.encode()).digest()
        if digest not in seen:
            seen.add(digest)
            by_line.setdefault(mutant.line, []).append((mutant.kind, number))
    drawn = random.Random(_SEED)
    for of_line in by_line.values():
        drawn.shuffle(of_line)
    had: Counter[tuple[str, str]] = Counter()
    first = []
    opcodes = {line: opcode(text[line - 1]) for line in by_line}

    def take(line: int, kind: str, number: int) -> int:
        by_line[line].remove((kind, number))
        if not had[opcodes[line], kind]:
            first.append(number)
        had[opcodes[line], kind] += 1
        return number

    def turn() -> list[int]:
        lines = [line for line, left in by_line.items() if left]
        drawn.shuffle(lines)
        return [
            take(line, *min(by_line[line], key=lambda each: had[opcodes[line], each[0]]))
            for line in lines
        ]

    turns = [turn()]
    turns.append(
        [
            take(line, kind, number)
            for line, left in by_line.items()
            for kind, number in list(left)
            if not had[opcodes[line], kind]
        ]
    )
    while any(by_line.values()):
        turns.append(turn())
    return turns, first


def unnamed(ptx: str) -> str:
    """A text whose registers and labels are numbered as they come."""
    named: dict[str, str] = {}
    return re.sub(r"%[a-z]+\d+|\$\w+", lambda m: named.setdefault(m[0], f"%{len(named)}"), ptx)


def judged(warm: Warm, numbers: Sequence[int], until: float) -> dict[str, Any]:
    """Letters of some mutants, as many as there is time for, and those that are wrong."""
    wanted = set(numbers)
    chosen = {n: m for n, m in enumerate(mutants(warm.kind.ptx, seed=1)) if n in wanted}
    letters, wrong = "", []
    for number in numbers:
        if time.time() > until:
            break
        letters += (letter := warm.letter(number, chosen[number]))
        if letter == "W":
            wrong.append({"line": chosen[number].line, "change": chosen[number].change})
    return {"letters": letters, "wrong": wrong, "seconds": time.process_time()}


@dataclass(eq=False)
class Sweep:
    """The kinds, what is known of their mutants, and the processes that find out more."""

    out: Path
    found: Found
    until: float
    processes: int
    shard: tuple[int, int]
    parts: Path

    def __post_init__(self) -> None:
        self.warm: dict[str, Warm] = {}
        self.orders: dict[str, list[int]] = {}
        self.ends: dict[str, list[int]] = {}  # of each turn, in the order
        self.running: dict[int, tuple[str, Sequence[int]]] = {}

    def run(self, names: Sequence[str]) -> None:
        """Judge what is not judged yet, until time is up."""
        names = self.distinct(names)
        for round_ in range(2 + len(_TURNS)):
            for name in names:
                for places in self.pieces(name, round_):
                    while len(self.running) >= self.processes:
                        # Nothing to start: meanwhile kinds are made ready for the next round.
                        cold = next((each for each in names if each not in self.warm), None)
                        if cold is None or not self.warmed(cold):
                            self.collect(wait=True)
                        self.collect(wait=False)
                    if time.time() > self.until:
                        break
                    # In the first round each process makes its own kind ready.
                    if round_ and not self.warmed(name):
                        break
                    self.start(name, places)
        while self.running:
            self.collect(wait=True)
        self.save()

    def warmed(self, name: str) -> bool:
        if name not in self.warm and time.time() < self.until - 20:
            self.warm[name] = Warm.up(name)
            gc.freeze()
        return name in self.warm

    def distinct(self, names: Sequence[str]) -> list[str]:
        """Kinds of one text count once, whatever their registers are called."""
        kept, seen = [], set[str]()
        for name in names:
            ptx = mutant_kinds.EVERY[name]().ptx
            if (plain := unnamed(ptx)) in seen:
                print(f"{name}: the text of another kind", flush=True)
                continue
            seen.add(plain)
            kept.append(name)
            turns, first = numbered(ptx)
            order = self.orders[name] = [number for turn in turns for number in turn]
            self.ends[name] = list(accumulate(map(len, turns)))
            digest = sha256(ptx.encode()).hexdigest()
            if self.found.get(name, {}).get("ptx") != digest:
                letters = "-" * len(order)
                self.found[name] = {"ptx": digest, "letters": letters, "wrong": [], "seconds": 0.0}
            places = dict(zip(order, range(len(order)), strict=True))
            self.found[name] |= {"lines": len(turns[0]), "pairs": [places[n] for n in first]}
        return kept

    def pieces(self, name: str, round_: int) -> Iterator[Sequence[int]]:
        """Places in the order of a kind that are this shard's and not judged, up to a round's end.

        The first round is one piece of each kind, which its process makes ready itself.
        """
        shard, shards = self.shard
        letters = self.found[name]["letters"]
        ends = [0, *self.ends[name]]
        turn = [1, *_TURNS, len(ends) - 1][round_]
        end = ends[min(turn, len(ends) - 1)] if round_ else _PIECE * shards
        open_ = [
            place
            for place in range(min(end, len(letters)))
            if place % shards == shard - 1 and letters[place] == "-"
        ]
        for at in range(0, len(open_), _PIECE):
            yield open_[at : at + _PIECE]

    def start(self, name: str, places: Sequence[int]) -> None:
        """Judge the mutants at some places in a process of their own."""
        pid = os.fork()
        if pid:
            self.running[pid] = name, places
            return
        status = 1
        try:
            warm = self.warm.get(name) or Warm.up(name)
            numbers = [self.orders[name][place] for place in places]
            result = judged(warm, numbers, self.until)
            (self.parts / f"{os.getpid()}.json").write_text(json.dumps(result))
            status = 0
        finally:
            os._exit(status)

    def collect(self, wait: bool) -> None:
        """Take in what processes that ended have found."""
        while self.running:
            pid, status = os.waitpid(-1, 0 if wait else os.WNOHANG)
            if not pid:
                return
            wait = False
            name, places = self.running.pop(pid)
            part = self.parts / f"{pid}.json"
            if status or not part.exists():
                print(f"{name}: a process ended with status {status}", flush=True)
                continue
            result, known = json.loads(part.read_text()), self.found[name]
            letters = list(known["letters"])
            for place, letter in zip(places, result["letters"], strict=False):
                letters[place] = letter
            known["letters"] = "".join(letters)
            known["wrong"] += result["wrong"]
            known["seconds"] += result["seconds"]
            part.unlink()
            for each in result["wrong"]:
                print(f"accepted and wrong: {name}: {each}", flush=True)
            self.save()

    def save(self) -> None:
        """Write down what is known so far."""
        beside = self.out.with_suffix(".new")
        beside.write_text(json.dumps(self.found, indent=1))
        beside.replace(self.out)


def merged(files: Sequence[Path]) -> Found:
    """What several files say together; those of another text than the first say nothing."""
    together: Found = {}
    for file in files:
        for name, found in json.loads(file.read_text()).items():
            known = together.setdefault(name, {**found, "letters": "-" * len(found["letters"])})
            if known["ptx"] != found["ptx"]:
                print(f"{file}: another text of {name}", file=sys.stderr)
                continue
            pairs = zip(known["letters"], found["letters"], strict=True)
            known["letters"] = "".join(new if old == "-" else old for old, new in pairs)
    return together


def table(found: Found) -> str:
    """What became of the mutants of each kind, for docs/trust.md."""
    lines = [
        "| kernel | instructions | changes of opcodes | mutants | refused | undecided | accepted "
        "| of them alike bit for bit | accepted and wrong |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    total: Counter[str] = Counter()
    for name, each in found.items():
        letters = each["letters"]
        counts = Counter(letters)
        for kind, places in ("lines", range(each["lines"])), ("pairs", each["pairs"]):
            counts[kind] = len(places)
            counts[f"{kind} judged"] = sum(letters[place] != "-" for place in places)
        total += counts
        lines.append(_row(name, counts))
    return "\n".join([*lines, _row("together", total)])


def _row(name: str, n: Counter[str]) -> str:
    accepted = n["="] + n["E"] + n["W"]
    asked = n["R"] + n["U"] + accepted
    parts = ((n[f"{kind} judged"], n[kind]) for kind in ("lines", "pairs"))
    shares = (f"{part:,} of {whole:,}" for part, whole in (*parts, (asked, asked + n["-"])))
    counts = (f"{each:,}" for each in (n["R"], n["U"], accepted, n["="]))
    return f"| {name} | {' | '.join((*shares, *counts))} | **{n['W']}** |"


def main() -> int:
    """Run what the arguments ask for."""
    given = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    given.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    given.add_argument("--seconds", type=float, default=600, help="of the clock")
    given.add_argument("--out", type=Path, default=Path("sweep.json"))
    given.add_argument("--shard", default="1/1", help="I/N: the I-th of N parts")
    given.add_argument("--kinds", default="softmax:", help="those whose name holds this text")
    given.add_argument("--compile", action="store_true", help="keep the PTX in $TYLO_PTX")
    given.add_argument("--table", type=Path, nargs="+", metavar="FILE", help="print a table")
    options = given.parse_args()
    if options.table:
        print(table(merged(options.table)))
        return 0
    names = [name for name in mutant_kinds.EVERY if options.kinds in name]
    if options.compile:
        for name in names:
            mutant_kinds.EVERY[name]()
        return 0
    found = json.loads(options.out.read_text()) if options.out.exists() else {}
    shard, _, shards = options.shard.partition("/")
    parts = Path(tempfile.mkdtemp(prefix="sweep"))
    until = time.time() + options.seconds
    sweep = Sweep(options.out, found, until, options.processes, (int(shard), int(shards)), parts)
    try:
        sweep.run(names)
    finally:
        shutil.rmtree(parts)
    print(table(sweep.found))
    return int(any(each["wrong"] for each in sweep.found.values()))


if __name__ == "__main__":
    raise SystemExit(main())
