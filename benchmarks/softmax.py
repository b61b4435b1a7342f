"""Softmax beside its peers on one GPU: `python benchmarks/softmax.py [--out FILE] [--quick]`.

`--tables FILE` prints the results of an earlier run as the tables of docs/benchmarks.md. `--axis`
times softmax along axes that are not the innermost instead (`softmax_axis`); `--peers QuACK Liger`
times these alone, with their results compared with torch's too.

Everything runs in one process on the same tensors, rotated so that no input is in a cache: 512 MiB
each. A time is the median of three runs of a few milliseconds between device events. Before
it counts, each result is compared with torch's over the whole tensor, and the output is poisoned.
Rates count each input element read once and each output element written once.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

POWERS = [1 << power for power in range(19)]
ODD = [3, 17, 33, 65, 127, 129, 257, 1025, 4097, 10007, 32003, 50257, 65537, 128256, 151936, 200003]
STREAMED = [1024, 4096, 16384, 131072]
SIZE = {"f32": 4, "bf16": 2, "f16": 2}
BYTES = 512 << 20
SETS = 2
_SLOW = 20.0  # milliseconds, from which on one round says enough


def rows_of(dtype: str, columns: int) -> int:
    """As many rows as fill a tensor."""
    return max(1, BYTES // SIZE[dtype] // columns)


def request(dtype: str, columns: int, *, out: bool = True, lse: bool = False) -> Any:
    """What is asked of the chooser."""
    from tylo.codegen.softmax import SoftmaxRequest

    pitch = columns * SIZE[dtype] | 16
    return SoftmaxRequest(
        rows=rows_of(dtype, columns),
        columns=columns,
        dtype=dtype,
        out_dtype=dtype if out else None,
        row_stride=columns,
        out_row_stride=columns,
        alignment=pitch & -pitch,
        out_alignment=pitch & -pitch,
        lse=lse,
        start_alignment=16,
    )


class Timer:
    """Medians of a few milliseconds each, over functions that are called in rotation."""

    def __init__(self, torch: Any) -> None:
        self.torch = torch

    def __call__(self, calls: Sequence[Callable[[], Any]], milliseconds: float = 4.0) -> float:
        """Milliseconds of one call."""
        self._run(calls, 1)
        once = self._run(calls, 1)
        if once * len(calls) > _SLOW:
            return once
        rounds = max(2, min(40, round(milliseconds / max(once * len(calls), 1e-3))))
        return statistics.median(self._run(calls, rounds) for _ in range(3))

    def _run(self, calls: Sequence[Callable[[], Any]], rounds: int) -> float:
        first, last = (self.torch.cuda.Event(enable_timing=True) for _ in range(2))
        first.record()
        for _ in range(rounds):
            for call in calls:
                call()
        last.record()
        self.torch.cuda.synchronize()
        return float(first.elapsed_time(last)) / (rounds * len(calls))


class Bench:
    """Tensors, a stream, and rates in TB/s."""

    def __init__(self, only: Sequence[str] = ()) -> None:
        import torch
        from softmax_peers import DTYPES, library_peers

        from tylo.codegen.launch.devices import device_state

        self.torch, self.dtypes, self.peers = torch, DTYPES, library_peers()
        self.device = device_state(0)
        self.stream = torch.cuda.current_stream().cuda_stream
        self.timer = Timer(torch)
        torch.manual_seed(0)
        self.buffers = [
            torch.empty(BYTES, dtype=torch.uint8, device="cuda") for _ in range(2 * SETS)
        ]
        self.lse = torch.empty(1 << 28, dtype=torch.float32, device="cuda")
        self.dtype = ""
        self.only = only
        self.wrong: list[str] = []

    def fill(self, dtype: str) -> None:
        """Random scores of that type in every input."""
        self.dtype = dtype
        for buffer in self.buffers[:SETS]:
            view = buffer.view(self.dtypes[dtype])
            view.copy_(self.torch.randn(view.numel(), device="cuda") * 3)

    def pairs(self, columns: int) -> list[tuple[Any, Any]]:
        """(input, output) of each set, as rows of so many columns."""
        rows = rows_of(self.dtype, columns)
        views = [each.view(self.dtypes[self.dtype]) for each in self.buffers]
        shaped = [each[: rows * columns].view(rows, columns) for each in views]
        return list(zip(shaped[:SETS], shaped[SETS:], strict=True))

    def rate(self, columns: int, milliseconds: float, passes: int = 2) -> float:
        """TB/s of `passes` times the tensor."""
        return (
            passes * rows_of(self.dtype, columns) * columns * SIZE[self.dtype] / milliseconds / 1e9
        )

    def copy(self) -> float:
        pairs = self.pairs(1024)
        return self.rate(1024, self.timer([lambda x=x, y=y: y.copy_(x) for x, y in pairs]))

    def read(self) -> float:
        pairs = [(x.view(-1), y) for x, y in self.pairs(1024)]
        return self.rate(1024, self.timer([lambda x=x: x.max() for x, _ in pairs]), 1)

    def calls(self, choice: Any, columns: int, pairs: Any) -> list[Callable[[], Any]]:
        from tylo.codegen.launch.launcher import launcher

        constants = {
            "rows": rows_of(self.dtype, columns),
            "columns": columns,
            "row_stride": columns,
            "out_row_stride": columns,
        }
        go = launcher(choice, self.device, constants, pointers=("x", "out", "lse"))
        lse = self.lse.data_ptr()
        addresses = [(x.data_ptr(), y.data_ptr(), lse) for x, y in pairs]
        return [partial(go, each, self.stream) for each in addresses]

    def own(self, choice: Any, columns: int) -> float:
        """Check a kernel over a whole tensor, then time it."""
        pairs = self.pairs(columns)
        x, y = pairs[-1]
        calls = self.calls(choice, columns, pairs)
        y.view(self.torch.uint8).fill_(0xFF)
        calls[-1]()
        self.require_close(choice.reason, y, self.torch.softmax(x, -1))
        return self.rate(columns, self.timer(calls))

    def require_close(self, what: str, found: Any, expected: Any) -> None:
        limit = 2e-2 if self.dtype != "f32" else 1e-4
        worst = 0.0
        pieces = (each.reshape(-1).split(1 << 26) for each in (found, expected))
        for part, wanted in zip(*pieces, strict=True):
            error = (part.float() - wanted.float()).abs() / (wanted.float() + 1e-6)
            worst = max(worst, float(error.nan_to_num(math.inf).max()))
        if not worst < limit:
            # The run goes on, and says so at its end.
            self.wrong.append(f"{what}: {worst}")

    def peer(self, run: Any, columns: int) -> float:
        pairs = self.pairs(columns)
        return self.rate(columns, self.timer([lambda x=x, y=y: run(x, y) for x, y in pairs]))

    def best_peers(self, columns: int) -> dict[str, float]:
        """The rate of each peer; of Triton's configurations the fastest."""
        from softmax_peers import triton_peers

        found: dict[str, float] = {}
        every = [*self.peers.items(), *(("Triton", run) for _, run in triton_peers(columns))]
        if self.only:
            every = [each for each in every if each[0] in self.only]
        for name, run in every:
            label = f"{name} {self.dtype} {columns}"
            try:
                if self.only:
                    x, y = self.pairs(columns)[-1]
                    self.require_close(label, run(x, y), self.torch.softmax(x, -1))
                found[name] = max(found.get(name, 0.0), self.peer(run, columns))
            except Exception as error:
                print(f"  {label}: {str(error)[:90]}")
        return found

    def logsumexp(self, choice: Any, columns: int) -> dict[str, float]:
        """Log-sum-exp alone: Tylo, torch, Triton; each input read once."""
        from softmax_peers import triton_lse

        pairs, torch = self.pairs(columns), self.torch
        rows = rows_of(self.dtype, columns)
        calls = self.calls(choice, columns, pairs)
        self.lse.fill_(float("nan"))
        calls[-1]()
        wanted = torch.logsumexp(pairs[-1][0].float(), -1)
        error = float((self.lse[:rows] - wanted).abs().max())
        if not error < 1e-4:
            self.wrong.append(f"log-sum-exp {choice.reason}: {error}")
        ways: dict[str, Any] = {
            "Tylo": calls,
            "torch": [lambda x=x: torch.logsumexp(x, -1) for x, _ in pairs],
            "Triton": [lambda x=x: triton_lse(x, self.lse) for x, _ in pairs],
        }
        found = {}
        for name, each in ways.items():
            try:
                found[name] = self.rate(columns, self.timer(each), 1)
            except Exception as error_:
                print(f"  {name} log-sum-exp {columns}: {str(error_)[:90]}")
        return found


def prepared(widths: Sequence[int], workers: int, *, peers: bool) -> None:
    """Compile Tylo's kernels, and torch's and Triton's, many at a time, into their caches."""
    jobs = [
        (dtype, rows_of(dtype, columns), columns) for dtype in ("f32", "bf16") for columns in widths
    ]
    jobs.sort(key=lambda job: job[2] * 7919 % 101)
    script = str(Path(__file__).with_name("softmax_peers.py"))
    share = max(1, workers // 2)
    running = [
        subprocess.Popen([sys.executable, script, json.dumps(jobs[start::share])])
        for start in range(share if peers else 0)
    ]
    with ProcessPoolExecutor(share) as pool:
        list(pool.map(_compile, jobs, chunksize=2))
    for each in running:
        each.wait()


def _compile(job: tuple[str, int, int]) -> None:
    from tylo.codegen.cache import compile_cached
    from tylo.codegen.softmax import choose

    dtype, _, columns = job
    choices = [
        choose(request(dtype, columns)),
        choose(request(dtype, columns, out=False, lse=True)),
    ]
    for choice in choices:
        kernel = choice.kernel
        compile_cached(kernel.source(), choice.architecture, kernels=[kernel.entry])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", default="")
    parser.add_argument("--quick", action="store_true", help="a few widths only")
    parser.add_argument("--workers", type=int, default=14)
    parser.add_argument("--axis", action="store_true", help="along axes that are not the innermost")
    parser.add_argument("--peers", nargs="*", default=(), help="softmax beside these alone")
    parser.add_argument("--widths", nargs="*", type=int, help="instead of all of them")
    parser.add_argument("--tables", default="", help="print the tables of a result file")
    given = parser.parse_args()
    if given.tables:
        print_tables(json.loads(Path(given.tables).read_text(encoding="utf-8")))
        return
    if given.axis:
        along_axes(given)
        return
    widths = given.widths or ([1, 17, 1024, 50257] if given.quick else POWERS + ODD)
    begun = time.time()
    prepared(widths, given.workers, peers=not given.peers)
    print(f"prepared in {time.time() - begun:.0f} s", flush=True)
    bench = Bench(given.peers)
    results: dict[str, Any] = {
        "softmax": {},
        "logsumexp": {},
        "compared": {},
        "alone": {},
        "copy": {},
        "read": {},
    }
    for dtype in ("f32", "bf16"):
        bench.fill(dtype)
        results["copy"][dtype], results["read"][dtype] = bench.copy(), bench.read()
        print(f"{dtype}: copy {results['copy'][dtype]:.2f}, read {results['read'][dtype]:.2f} TB/s")
        run_widths(bench, widths, results, given.out)
        if not given.peers:
            run_compared(bench, results)
    for dtype in () if given.peers else ("f32", "bf16"):
        bench.fill(dtype)
        run_log_sum_exp(bench, widths, results, given.out)
    ratios = [each["ratio"] for each in results["softmax"].values()]
    results["wrong"] = bench.wrong
    if ratios:
        mean = statistics.geometric_mean(ratios)
        results |= {"geometric_mean": mean, "least": min(ratios)}
        print(f"geometric mean {mean:.3f}, least {min(ratios):.3f}")
    print(f"wrong: {bench.wrong}")
    _write(given.out, results)


def along_axes(given: argparse.Namespace) -> None:
    """Softmax along axes that are not the innermost, in both types."""
    import softmax_axis

    softmax_axis.prepared(given.workers)
    bench = Bench()
    results: dict[str, Any] = {"axis": {}, "copy": {}}
    for dtype in ("f32", "bf16"):
        bench.fill(dtype)
        results["copy"][dtype] = bench.copy()
        print(f"{dtype}: copy {results['copy'][dtype]:.2f} TB/s", flush=True)
        softmax_axis.run_axis(bench, results["axis"])
        _write(given.out, results | {"wrong": bench.wrong})
    softmax_axis.print_axis_table(results["axis"], results["copy"])
    print(f"wrong: {bench.wrong}")


def print_tables(results: dict[str, Any]) -> None:
    """The tables of a result file, as Markdown."""
    print("| width | type | Tylo | of copy | best peer | ratio | log-sum-exp | of read |")
    print("|---|---|---|---|---|---|---|---|")
    for key, each in results["softmax"].items():
        dtype, columns = key.split()
        name = max(each["peers"], key=lambda peer: each["peers"][peer])
        lse = results["logsumexp"].get(key, {}).get("Tylo", math.nan)
        print(
            f"| {columns} | {dtype} | {each['Tylo']:.2f} | "
            f"{each['Tylo'] / results['copy'][dtype]:.2f} | {name} {each['peers'][name]:.2f} | "
            f"{each['ratio']:.2f} | {lse:.2f} | {lse / results['read']['f32']:.2f} |"
        )
    for key, found in results["compared"].items():
        print(f"| {key} | " + " | ".join(f"{label} {rate:.2f}" for label, rate in found.items()))
    if mean := results.get("geometric_mean"):
        print(f"geometric mean {mean:.3f}, least {results['least']:.3f}")


def run_widths(bench: Bench, widths: Sequence[int], results: dict[str, Any], out: str) -> None:
    from tylo.codegen.softmax import choose

    for columns in widths:
        choice = choose(request(bench.dtype, columns))
        own = bench.own(choice, columns)
        peers = bench.best_peers(columns)
        shown = f"{bench.dtype:4} {columns:6} Tylo {own:.2f}"
        if not peers:
            print(f"{shown}, no peer")
            results["alone"][f"{bench.dtype} {columns}"] = {"Tylo": own, "reason": choice.reason}
            _write(out, results)
            continue
        name = max(peers, key=lambda each: peers[each])
        ratio = own / peers[name]
        found = {"Tylo": own, "peers": peers, "ratio": ratio, "reason": choice.reason}
        results["softmax"][f"{bench.dtype} {columns}"] = found
        of_copy = own / results["copy"][bench.dtype]
        print(f"{shown}, of copy {of_copy:.2f}, {name} {peers[name]:.2f}, ratio {ratio:.2f}")
        _write(out, results)


def run_log_sum_exp(bench: Bench, widths: Sequence[int], results: dict[str, Any], out: str) -> None:
    from tylo.codegen.softmax import choose

    for columns in widths:
        lse = bench.logsumexp(choose(request(bench.dtype, columns, out=False, lse=True)), columns)
        results["logsumexp"][f"{bench.dtype} {columns}"] = lse
        listed = ", ".join(f"{key} {value:.2f}" for key, value in lse.items())
        print(f"{bench.dtype:4} {columns:6} log-sum-exp {listed}", flush=True)
        _write(out, results)


def run_compared(bench: Bench, results: dict[str, Any]) -> None:
    from dataclasses import replace

    from softmax_compared import Text, branching, compared_kernels

    from tylo.codegen.softmax import choose

    for columns in STREAMED:
        found = {
            "full rows in registers": bench.own(choose(request(bench.dtype, columns)), columns)
        }
        for label, choice in compared_kernels(request(bench.dtype, columns)):
            found[label] = bench.own(choice, columns)
            if choice.kernel.form == "stream":
                text = Text(branching(choice.kernel.source()), choice.kernel.entry)
                found[f"{label}, branches and expf"] = bench.own(
                    replace(choice, kernel=text), columns
                )
        results["compared"][f"{bench.dtype} {columns}"] = found
        print(bench.dtype, columns, {key: round(value, 2) for key, value in found.items()})


def _write(path: str, results: dict[str, Any]) -> None:
    if path:
        Path(path).write_text(json.dumps(results, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
