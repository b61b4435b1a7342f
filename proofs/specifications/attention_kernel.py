"""One attention kernel as a specification: its parameters, and what no proof of it covers.

>>> kernel = role_kernel(normal({"depth": 64}))
>>> kernel.threads, kernel.schedule.ring("k").slots
(384, 4)
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from tylo.layouts.errors import GenerationError
from tylo.proofs.pipelines.kernel import NOT_VALIDATED, RoleKernel
from tylo.proofs.pipelines.schedule import attention_schedule

# The worked kernel's, where nothing else is said.
_PARAMETERS: Mapping[str, int | str] = MappingProxyType(
    {
        "depth": 64,
        "dtype": "bf16",
        "groups": 2,
        "keys": 64,
        "stages": 4,
        "residents": 1,
        "turns": 1,
        "reference": "lagging",
    }
)

UNCOVERED = (
    f"{NOT_VALIDATED}: wgmma, mbarrier and tensor copies are not in the opcode table, so that no "
    "obligation is stated about the PTX or the machine code",
    "the loop that decodes a block's work, which is typed by hand and tested",
    "the last, shorter run of heads, and an odd number of blocks of rows, which are tested",
    "the order of memory behind barriers, and the named barriers around the output tile",
    "that tensor copies clip boxes at the tensor's end and fill with zeros",
    "values of ex2.approx and lg2.approx, and the order of sums inside wgmma",
)
ASSUMPTIONS = (
    NOT_VALIDATED,
    "the launch is that of tylo.codegen.attention.launch: tensor maps, arguments, grid, registers",
    "compute capability 9.0",
)


def normal(parameters: Mapping[str, int | str]) -> dict[str, int | str]:
    """All parameters of a kernel, in their order; `GenerationError` for one that is not its."""
    for label, given in parameters.items():
        if label not in _PARAMETERS:
            raise GenerationError(
                f"attention has no parameter {label!r}", hint=f"use {', '.join(_PARAMETERS)}"
            )
        if type(given) is not type(_PARAMETERS[label]):
            raise GenerationError(
                f"{label} is {given!r}", hint=f"give something like {_PARAMETERS[label]!r}"
            )
    if "depth" not in parameters:
        raise GenerationError("attention without a depth", hint="give depth=64 or depth=128")
    return {**_PARAMETERS, **parameters}


def role_kernel(parameters: Mapping[str, int | str]) -> RoleKernel:
    """What the proofs know of the kernel with these parameters, all of which are there."""
    groups, stages = int(parameters["groups"]), int(parameters["stages"])
    return RoleKernel(
        entry="attention",
        threads=128 * (groups + 1),
        architectures=("sm_90a",),
        schedule=attention_schedule(groups, stages, bool(parameters["turns"])),
        assumptions=ASSUMPTIONS,
        uncovered=UNCOVERED,
    )
