"""Bundles without a device: their PTX on the machine that runs it, under random schedules.

Each kernel runs once for every seed. A seed decides in which order warps go and when asynchronous
copies land, so a kernel that is right under one order only is found out; a race, a read of memory
that nothing wrote and a barrier that not all reach are failures whatever the results are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tylo.codegen.architecture import parse_architecture
from tylo.codegen.launch import POISON, DeviceInfo
from tylo.codegen.launch.arguments import Argument, Input, Output, Pointer
from tylo.layouts.errors import GenerationError, LaunchError

if TYPE_CHECKING:
    from numpy.typing import NDArray

NAME = "CPU machine"
# Kernel runs done, and in all.
Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class MachineModule:
    """PTX text that launches as a module on a device does, under the schedule of one seed."""

    ptx: str
    seed: int

    def launch(
        self,
        kernel: str,
        grid: int | tuple[int, ...],
        block: int | tuple[int, ...],
        arguments: Sequence[Argument],
        shared: int = 0,
    ) -> list[NDArray[Any]]:
        """Run `kernel` once; the outputs, in the order of their arguments.

        Raises `MachineFault` when the kernel misbehaves.
        """
        import numpy

        from tylo.proofs.ptx.machine.launch import Unwritten, launch

        outputs: list[NDArray[Any]] = []
        passed: list[Any] = []
        for index, argument in enumerate(arguments):
            if isinstance(argument, Pointer):
                raise LaunchError(
                    f"argument {index} is memory of a device", hint="pass an Input or an Output"
                )
            if isinstance(argument, Output):
                outputs.append(numpy.empty(argument.shape, argument.dtype))
                outputs[-1].reshape(-1).view(numpy.uint8)[:] = POISON
                passed.append(Unwritten(outputs[-1]))
            elif isinstance(argument, Input):
                passed.append(numpy.ascontiguousarray(argument.array))
            else:
                passed.append(argument)
        launch(self.ptx, kernel, grid, block, passed, seed=self.seed, shared_bytes=shared)
        return outputs


def machine_architecture(architectures: Sequence[str]) -> str:
    """The architecture whose PTX the machine runs: sm_80 where there is one, else the first.

    >>> machine_architecture(("sm_90a", "sm_80")), machine_architecture(("sm_90a", "sm_120"))
    ('sm_80', 'sm_90a')
    """
    return "sm_80" if "sm_80" in architectures else architectures[0]


def machine_info(architecture: str) -> DeviceInfo:
    """The machine as reports name it; no driver, and no CUDA version, belong to it."""
    number = parse_architecture(architecture).number
    return DeviceInfo(NAME, (number // 10, number % 10), "", "")


def schedules(seeds: int) -> Iterator[int]:
    """The seeds 0, 1, ...; raises `GenerationError` for none."""
    if seeds < 1:
        raise GenerationError(f"{seeds} schedules", hint="run at least one: --seeds 1")
    yield from range(seeds)
