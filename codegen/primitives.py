"""What can be generated, by name: the CUDA text of each primitive and of its generated tests."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from tylo.codegen.attention.member import member_of
from tylo.codegen.pack_operand_a.cuda_tests import CudaTest, cuda_tests
from tylo.codegen.pack_operand_a.source import kernel_source
from tylo.codegen.softmax import cuda_tests as softmax
from tylo.layouts.errors import GenerationError
from tylo.proofs.bundle import GeneratedTest
from tylo.proofs.specifications import Parameters, pack_tile
from tylo.proofs.specifications.softmax_cases import case_of


@dataclass(frozen=True, slots=True)
class Primitive:
    """How the text of a primitive and of its tests is made from a specification's parameters."""

    source: Callable[[Parameters], str]
    tests: Callable[[Parameters], tuple[CudaTest, ...]]


PRIMITIVES: Mapping[str, Primitive] = MappingProxyType(
    {
        "pack_operand_a": Primitive(
            source=lambda parameters: kernel_source(pack_tile(parameters)),
            tests=lambda parameters: cuda_tests(pack_tile(parameters)),
        ),
        "softmax": Primitive(
            source=lambda parameters: softmax.kernel_of(case_of(parameters)).source(),
            tests=lambda parameters: softmax.cuda_tests(case_of(parameters)),
        ),
        "attention": Primitive(
            source=lambda parameters: member_of(parameters).source(),
            tests=lambda parameters: (),
        ),
    }
)


def stated_test(test: CudaTest) -> GeneratedTest:
    """What a manifest says of a generated test."""
    return GeneratedTest(
        f"tests/{test.name}.cu", test.entry, test.threads, test.checks, test.result_words
    )


def primitive(name: str) -> Primitive:
    """The generator of a primitive, or `GenerationError` naming those there are."""
    if name not in PRIMITIVES:
        raise GenerationError(f"no primitive {name!r}", hint=f"there are: {', '.join(PRIMITIVES)}")
    return PRIMITIVES[name]
