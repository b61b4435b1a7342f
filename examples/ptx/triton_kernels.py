"""Two Triton kernels, right and wrong versions, compiled without a GPU.

    pip install triton==3.9.0
    python examples/ptx/triton_kernels.py

writes the ``.ptx`` files beside this file, for ``tylo check --ptx FILE --against CLAIM``.
"""

from pathlib import Path

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

FOLDER = Path(__file__).resolve().parent
DIVISIBLE = [["tt.divisibility", 16]]  # Triton's own specialisation, of pointers and sizes


@triton.jit
def masked_copy(x, y, n, BLOCK: tl.constexpr, WRONG: tl.constexpr):
    """y[0:n] = x[0:n]; the wrong version goes one element too far."""
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets <= n if WRONG else offsets < n
    tl.store(y + offsets, tl.load(x + offsets, mask=mask), mask=mask)


@triton.jit
def fragment_order(x, y, WRONG: tl.constexpr):
    """Row-major tiles of 16 x 8 to the order of an accumulator: value fastest, then lane.

    The wrong version exchanges rows and columns inside a thread.
    """
    index = tl.arange(0, 128)
    lane = index // 4
    value = index % 4
    if WRONG:
        row = lane // 4 + 8 * (value % 2)
        column = lane % 4 * 2 + value // 2
    else:
        row = lane // 4 + 8 * (value // 2)
        column = lane % 4 * 2 + value % 2
    tile = tl.program_id(0) * 128
    tl.store(y + tile + index, tl.load(x + tile + row * 8 + column))


def write(kernel, name, signature, warps, divisible, **constants):
    types = {**signature, **dict.fromkeys(constants, "constexpr")}
    attributes = {(list(signature).index(each),): DIVISIBLE for each in divisible}
    source = ASTSource(fn=kernel, signature=types, constexprs=constants, attrs=attributes)
    compiled = triton.compile(
        source, target=GPUTarget("cuda", 90, 32), options={"num_warps": warps}
    )
    (FOLDER / f"{name}.ptx").write_text(compiled.asm["ptx"])


if __name__ == "__main__":
    pointers = {"x": "*fp32", "y": "*fp32"}
    copied = {**pointers, "n": "i32"}
    for wrong in (False, True):
        ending = "_wrong" if wrong else ""
        write(masked_copy, f"masked_copy{ending}", copied, 4, "xy", BLOCK=256, WRONG=wrong)
        write(fragment_order, f"fragment_order{ending}", pointers, 1, "xy", WRONG=wrong)
    # For an n that Triton was told is a multiple of 16: four elements at once.
    write(masked_copy, "masked_vectors", copied, 4, "xyn", BLOCK=1024, WRONG=False)
