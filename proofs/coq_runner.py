"""Run ``coqc`` on a file, killably and within a time limit; Coq is optional and its absence shows.

>>> compile_coq("", program="no-such-coqc").verdict
'missing'
"""

from __future__ import annotations

import os
import resource
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from tylo.proofs.certificate import Proof
from tylo.proofs.coq import coq_file

CLOSED = "Closed under the global context"
# What Coq's own library builds the real numbers and their functions on.
REAL_AXIOMS = frozenset(
    {
        "ClassicalDedekindReals.sig_not_dec",
        "ClassicalDedekindReals.sig_forall_dec",
        "FunctionalExtensionality.functional_extensionality_dep",
        "Classical_Prop.classic",
    }
)


@dataclass(frozen=True)
class CoqVerdict:
    """``holds``, ``unknown`` (not accepted, or out of time) or ``missing``, and Coq's own words.

    A rejected script proves nothing about the claim, so Coq never says ``fails``.
    """

    verdict: str
    version: str
    seconds: float
    message: str


def check_with_coq(
    proofs: Sequence[Proof], *, seconds: float = 300.0, program: str = "coqc"
) -> CoqVerdict:
    """Whether Coq accepts every claim's theorem, without any axiom."""
    return compile_coq(coq_file(proofs), theorems=len(proofs), seconds=seconds, program=program)


def compile_coq(
    text: str,
    *,
    theorems: int = 0,
    seconds: float = 300.0,
    program: str = "coqc",
    axioms: Collection[str] = (),
) -> CoqVerdict:
    """Compile `text`, which prints the assumptions of so many theorems.

    None may have any but `axioms`, which are empty unless the theorems are about real numbers.
    """
    path = shutil.which(program)
    if path is None:
        return CoqVerdict("missing", "", 0.0, f"{program} is not installed")
    version = subprocess.run(
        [path, "--print-version"], capture_output=True, text=True, timeout=60, check=False
    ).stdout.split(" ")[0]
    started, limit = time.monotonic(), int(seconds) + 1
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "claims.v").write_text(text, encoding="ascii")
        # A session of its own, so that whatever coqc starts dies with it; and a limit that ends it
        # even where this process is killed first.
        process = subprocess.Popen(
            [path, "-q", "claims.v"],
            cwd=folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
            preexec_fn=partial(resource.setrlimit, resource.RLIMIT_CPU, (limit, limit)),
        )
        try:
            output, _ = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            return CoqVerdict(
                "unknown", version, time.monotonic() - started, f"no answer in {seconds:g} s"
            )
    accepted = process.returncode == 0 and _assumes_only(output, theorems, axioms)
    return CoqVerdict(
        "holds" if accepted else "unknown", version, time.monotonic() - started, output.strip()
    )


def _assumes_only(output: str, theorems: int, axioms: Collection[str]) -> bool:
    """Whether so many reports of assumptions, and nothing else, name only `axioms`."""
    reports = 0
    for line in output.splitlines():
        if line in (CLOSED, "Axioms:"):
            reports += 1
        elif not line.startswith(" ") and line.split(" ")[0] not in axioms:
            return False
    return reports == theorems
