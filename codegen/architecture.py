"""GPU architectures: what to compile for, and which device then runs it.

A real architecture is written `sm_NUMBER` with an optional suffix. The number is the compute
capability without its dot (`sm_90` is 9.0, `sm_120` is 12.0). The suffix says how far the machine
code travels:

| written | may use | runs on |
|---|---|---|
| `sm_80` | what every device of that capability and all later ones have | 8.0 and later 8.x |
| `sm_90a` | everything 9.0 has, such as `wgmma` | 9.0, nothing else |
| `sm_100f` | what the family of 10.0 shares | 10.0 and later 10.x |

>>> hopper = parse_architecture("sm_90a")
>>> hopper.capability
(9, 0)
>>> hopper.runs_on((9, 0)), hopper.runs_on((10, 0))
(True, False)
>>> parse_architecture("sm_80").runs_on((8, 6)), parse_architecture("sm_86").runs_on((8, 0))
(True, False)

A virtual architecture (`compute_90`) names an instruction set, not a machine. NVRTC then stops at
PTX, and inline assembly has not been assembled by anyone: `compute_120` takes Hopper's `wgmma`
without a word. Tylo refuses it.

>>> parse_architecture("compute_90")
Traceback (most recent call last):
tylo.layouts.errors.CompileError: 'compute_90' is a virtual architecture: it yields PTX only, and \
nothing checks that its inline assembly assembles; compile for a real one, such as sm_90

Source: CUDA C++ Programming Guide, "Compute Capabilities" and "Binary Compatibility"; NVRTC
documentation, `--gpu-architecture`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from tylo.layouts.errors import CompileError

_WRITTEN = re.compile(r"sm_(?P<number>[1-9][0-9]{1,2})(?P<suffix>[af]?)")

# The first number that knows each suffix.
_SUFFIX_SINCE = {"": 0, "a": 90, "f": 100}


@dataclass(frozen=True)
class Architecture:
    """A real GPU architecture; `number` is the compute capability times ten.

    >>> Architecture(100, "f").name, Architecture(100, "f").runs_on((10, 3))
    ('sm_100f', True)
    """

    number: int
    suffix: str = ""

    def __post_init__(self) -> None:
        since = _SUFFIX_SINCE.get(self.suffix)
        if since is None or self.number < since:
            raise CompileError(
                f"{self.name!r} does not exist: the suffix {self.suffix!r} begins with sm_{since}",
                hint=f"write sm_{self.number}",
            )

    @property
    def name(self) -> str:
        return f"sm_{self.number}{self.suffix}"

    @property
    def capability(self) -> tuple[int, int]:
        """The compute capability, (major, minor)."""
        return self.number // 10, self.number % 10

    def runs_on(self, capability: tuple[int, int]) -> bool:
        """Whether machine code for this architecture loads on a device of that capability."""
        major, minor = self.capability
        if self.suffix == "a":
            return capability == (major, minor)
        return capability[0] == major and capability[1] >= minor


def parse_architecture(text: str) -> Architecture:
    """The architecture that `text` names; CompileError for anything but a real one.

    >>> parse_architecture("sm_120a")
    Architecture(number=120, suffix='a')
    """
    match = _WRITTEN.fullmatch(text)
    if match is not None:
        return Architecture(int(match["number"]), match["suffix"])
    if text.startswith("compute_"):
        raise CompileError(
            f"{text!r} is a virtual architecture: it yields PTX only, and nothing checks that its "
            "inline assembly assembles",
            hint=f"compile for a real one, such as sm_{text.removeprefix('compute_') or 90}",
        )
    raise CompileError(
        f"{text!r} is not an architecture", hint="write it like sm_80, sm_90a or sm_120"
    )


def require_supported(architecture: Architecture, compiler: str, supported: Iterable[int]) -> None:
    """Refuse an architecture whose number `compiler` does not list.

    >>> require_supported(Architecture(70), "NVRTC 13.0.88", [75, 80, 90])
    Traceback (most recent call last):
    tylo.layouts.errors.CompileError: NVRTC 13.0.88 cannot compile for sm_70 (compute capability \
7.0): it knows sm_75, sm_80, sm_90; 7.0 is older than its oldest: install an older compiler
    """
    known = sorted(supported)
    if architecture.number in known:
        return
    major, minor = architecture.capability
    listed = ", ".join(f"sm_{number}" for number in known)
    if architecture.number < known[0]:
        hint = f"{major}.{minor} is older than its oldest: install an older compiler"
    elif architecture.number > known[-1]:
        hint = f"{major}.{minor} is newer than its newest: install a newer compiler"
    else:
        hint = "choose one that it knows, or another compiler version"
    raise CompileError(
        f"{compiler} cannot compile for {architecture.name} (compute capability {major}.{minor}): "
        f"it knows {listed}",
        hint=hint,
    )
