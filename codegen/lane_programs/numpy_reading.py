"""A lane program on numpy arrays: what every lane of every warp holds, bit by bit as PTX says.

Inputs and outputs are arrays ``[..., thread, register]``; warps are runs of 32 threads (a tile of
fewer threads is one warp in part).

>>> import numpy
>>> from tylo.proofs.lane_programs.expression import shuffle, register
>>> from tylo.proofs.lane_programs.program import Array, LaneProgram
>>> pair = LaneProgram(
...     "The value plus the neighbour's.", (Array("x", "f32", 1),),
...     {"sum": (register("x", 0) + shuffle(register("x", 0), 1),)},
... )
>>> run(pair, x=numpy.array([[1], [2], [3], [4]], numpy.float32))["sum"][:, 0].tolist()
[3.0, 3.0, 7.0, 7.0]

Everything is exact to the bit but `ex2` and `lg2`, which come out as the float32 nearest to numpy's
float64 result; the hardware's differ within the error that the PTX ISA states. NaN payloads mean
nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from tylo.codegen.lane_programs.exchanged import looked_up
from tylo.layouts.errors import GenerationError
from tylo.layouts.reduction import Reduction
from tylo.proofs.lane_programs.expression import Expression, read
from tylo.proofs.lane_programs.program import LaneProgram

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Values = NDArray[Any]

_TINY = 2.0**-126
_DTYPES = MappingProxyType({"f32": "float32", "bool": "bool", "b32": "uint32"})


def run(
    program: LaneProgram, /, exchange: Reduction | None = None, **inputs: Values
) -> dict[str, Values]:
    """Every output of `program`; raises `GenerationError` for an input that is not as declared.

    `exchange` is the reduction of a program that crosses warps.
    """
    import numpy

    expected = {each.name: each for each in program.inputs}
    if inputs.keys() != expected.keys():
        raise GenerationError(
            f"inputs {sorted(inputs)} for a program of {sorted(expected)}", hint="give each once"
        )
    for name, array in inputs.items():
        declared = expected[name]
        if array.dtype.name != _DTYPES[declared.type] or array.shape[-1] != declared.count:
            raise GenerationError(
                f"{name} is {array.dtype}{list(array.shape)}",
                hint=f"give {_DTYPES[declared.type]}[..., thread, {declared.count}]",
            )
    shape = numpy.broadcast_shapes(*(array.shape[:-1] for array in inputs.values()))
    width = min(32, shape[-1])

    def leaf(node: Expression) -> Values:
        if node.operator == "constant":
            return numpy.full(shape, node.detail[0], numpy.float32)
        name, index = node.detail
        return numpy.broadcast_to(inputs[name][..., index], shape)

    def shuffled(value: Values, mask: int) -> Values:
        if mask >= width:
            raise GenerationError(
                f"a shuffle by {mask} among {width} lanes", hint="the tile has too few threads"
            )
        return value[..., numpy.arange(shape[-1]) ^ mask]

    with numpy.errstate(all="ignore"):
        functions = {**FUNCTIONS, "shuffle": shuffled, "part": looked_up(exchange)}
        results = read(program.roots, functions, leaf)
    outputs, start = {}, 0
    for name, roots in program.outputs.items():
        outputs[name] = numpy.stack(results[start : start + len(roots)], axis=-1)
        start += len(roots)
    return outputs


def _extremum(sign: int) -> Callable[[Values, Values], Values]:
    def extremum(left: Values, right: Values) -> Values:
        import numpy

        # Zeros are equal to numpy and ordered by PTX: the sign bit decides between them.
        first = numpy.signbit(left) < numpy.signbit(right)
        larger = numpy.where(left == right, first, left > right)
        chosen = numpy.where(larger == (sign > 0), left, right)
        missing = numpy.isnan(left) | numpy.isnan(right)
        return numpy.where(missing, numpy.float32(numpy.nan), chosen)

    return extremum


def fused(a: Values, b: Values, c: Values) -> Values:
    """a * b + c with one rounding.

    A product of two float32 is exact in float64. Where the sum there is not, it is moved to the
    neighbour with an odd last bit, after which rounding to float32 cannot be misled (Boldo and
    Melquiond, "Emulation of FMA and correctly rounded sums", 2008).
    """
    import numpy

    product, addend = a.astype(numpy.float64) * b.astype(numpy.float64), c.astype(numpy.float64)
    total = product + addend
    virtual = total - product
    rest = (product - (total - virtual)) + (addend - virtual)
    even = (total.view(numpy.uint64) & numpy.uint64(1)) == 0
    towards = numpy.where(rest > 0, numpy.inf, -numpy.inf)
    odd = numpy.where(even & (rest != 0), numpy.nextafter(total, towards), total)
    return numpy.where(numpy.isfinite(total), odd, total).astype(numpy.float32)


def _flushed(value: Values) -> Values:
    import numpy

    return numpy.where(numpy.abs(value) < _TINY, numpy.copysign(numpy.float32(0), value), value)


def _ex2(value: Values) -> Values:
    import numpy

    return _flushed(numpy.exp2(_flushed(value).astype(numpy.float64)).astype(numpy.float32))


def _lg2(value: Values) -> Values:
    import numpy

    return numpy.log2(_flushed(value).astype(numpy.float64)).astype(numpy.float32)


def _where(condition: Values, yes: Values, no: Values) -> Values:
    import numpy

    return numpy.where(condition, yes, no)


def _bf16(shift: int) -> Callable[[Values], Values]:
    def half(word: Values) -> Values:
        import numpy

        kept = word << numpy.uint32(16) if shift == 0 else word & numpy.uint32(0xFFFF0000)
        return numpy.ascontiguousarray(kept).view(numpy.float32)

    return half


def _f16(shift: int) -> Callable[[Values], Values]:
    def half(word: Values) -> Values:
        import numpy

        bits = (word >> numpy.uint32(shift)).astype(numpy.uint16)
        return bits.view(numpy.float16).astype(numpy.float32)

    return half


def _pack(dtype: str) -> Callable[[Values, Values], Values]:
    def pack(low: Values, high: Values) -> Values:
        import numpy

        from tylo.codegen.rounding import rounded_bits

        halves = [rounded_bits(numpy.ascontiguousarray(each), dtype) for each in (low, high)]
        words = [each.astype(numpy.uint32) for each in halves]
        return words[0] | words[1] << numpy.uint32(16)

    return pack


def _greater_halves(half: Callable[[int], Callable[[Values], Values]], dtype: str) -> Any:
    """Half by half: a maximum is one of its operands, so that rounding it back changes nothing."""
    greater, pack = _extremum(1), _pack(dtype)

    def maximum(a: Values, b: Values) -> Values:
        return pack(*(greater(half(shift)(a), half(shift)(b)) for shift in (0, 16)))

    return maximum


FUNCTIONS: Mapping[str, Callable[..., Any]] = MappingProxyType(
    {
        "add": lambda a, b: a + b,
        "subtract": lambda a, b: a - b,
        "multiply": lambda a, b: a * b,
        "fma": fused,
        "divide": lambda a, b: a / b,
        "reciprocal": lambda a: a.dtype.type(1) / a,
        "maximum": _extremum(1),
        "minimum": _extremum(-1),
        "ex2": _ex2,
        "lg2": _lg2,
        "less": lambda a, b: a < b,
        "equal": lambda a, b: a == b,
        "not": lambda a: ~a,
        "and": lambda a, b: a & b,
        "or": lambda a, b: a | b,
        "select": _where,
        "low_bf16": _bf16(0),
        "high_bf16": _bf16(16),
        "low_f16": _f16(0),
        "high_f16": _f16(16),
        "maximum_bf16": _greater_halves(_bf16, "bf16"),
        "maximum_f16": _greater_halves(_f16, "f16"),
        "pack_bf16": _pack("bf16"),
        "pack_f16": _pack("f16"),
    }
)
