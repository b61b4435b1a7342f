"""The kernels that `benchmarks/softmax.py` compares among themselves.

Streaming (four values a lane, whatever the width) beside full rows in registers and a loop of three
passes; and the streaming kernels again with branches and a full-precision exponential in place of
select and `ex2`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any


def compared_kernels(asked: Any) -> Iterator[tuple[str, Any]]:
    """The kernels of the comparison: streaming, full-row registers, three passes."""
    from tylo.codegen.softmax.choose import chosen
    from tylo.codegen.softmax.kernel import SoftmaxKernel
    from tylo.proofs.specifications.softmax_tiles import SoftmaxTile

    def of(label: str, form: Any, tile: SoftmaxTile, **more: Any) -> tuple[str, Any]:
        return label, chosen(
            SoftmaxKernel(tile, asked.dtype, asked.dtype, form, **more), asked, label
        )

    yield of("streaming, warp a row", "stream", SoftmaxTile(4, 32, 1, 1, 4))
    yield of("streaming, block a row", "stream", SoftmaxTile(4, 32, 32, 1))
    yield of("three passes, warp a row", "three_pass", SoftmaxTile(1, 32, 1, 1, 4))


def branching(source: str) -> str:
    """A streaming kernel with branches and a full-precision exponential in its element operations.

    What the skeleton calls has the same names and parameters; only the bodies differ.
    """
    replaced = {
        "softmax_update": """    for (unsigned value = 0; value < values; ++value) {
        if (scores[value] > maximum[0]) {
            sum[0] = sum[0] * expf(maximum[0] - scores[value]) + 1.0f;
            maximum[0] = scores[value];
        } else if (scores[value] > -lane_infinity()) {
            sum[0] += expf(scores[value] - maximum[0]);
        }
    }
""",
        "softmax_probabilities": """    for (unsigned value = 0; value < values; ++value) {
        if (scores[value] > -lane_infinity()) {
            probabilities[value] = expf(scores[value] - maximum[0]) / sum[0];
        } else {
            probabilities[value] = 0.0f;
        }
    }
""",
    }
    for name, body in replaced.items():
        start = source.index("{\n", source.index(f"void {name}(")) + 2
        source = source[:start] + body + source[source.index("}\n", start) :]
    return source


class Text:
    """A kernel that is only text."""

    def __init__(self, text: str, entry: str) -> None:
        self.text, self.entry = text, entry

    def source(self) -> str:
        return self.text
