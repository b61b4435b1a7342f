"""Which softmax kernel answers a request, in which geometry, and why.

The widths decide. What pays was measured on an H200 (`docs/benchmarks.md`): two 16-byte vectors a
thread and as many threads as that takes, up to 1024 in a block; then more vectors a thread, as long
as registers hold them; then a cluster of blocks. Each element is read once all the way.

>>> from tylo.codegen.softmax.request import SoftmaxRequest
>>> def request(columns, dtype="f32", alignment=16):
...     return SoftmaxRequest(4096, columns, dtype, dtype, columns, columns, alignment, alignment)
>>> print(choose(request(1024)).reason)
rows of 1024 f32 are 256 aligned vectors: 2 a thread, 128 threads a row, read once into registers
>>> print(choose(request(131072, "bf16")).reason)
rows of 131072 bf16 are 16384 aligned vectors: 16 a thread, 1024 threads of 8 blocks a row, read \
once into registers
>>> print(choose(request(4097, alignment=4)).reason)
rows of 4097 f32 begin anywhere in a vector: up to 2 aligned vectors a thread and single columns \
at both ends, 512 threads a row, read once into registers
"""

from __future__ import annotations

from tylo.codegen.launch.choice import Choice
from tylo.codegen.softmax.across import AcrossKernel
from tylo.codegen.softmax.across_tiles import across_shape
from tylo.codegen.softmax.few import FewKernel
from tylo.codegen.softmax.flat import FlatKernel
from tylo.codegen.softmax.geometry import held_shape, streamed_shape, streams_alone
from tylo.codegen.softmax.kernel import SoftmaxKernel
from tylo.codegen.softmax.narrow import few_tile, flat_tile
from tylo.codegen.softmax.request import BYTES, SoftmaxRequest
from tylo.layouts.errors import GenerationError
from tylo.proofs.specifications.softmax_tiles import SoftmaxTile

_VECTOR_BYTES = 16
_NARROW = 16  # vectors: narrower rows that are not aligned are read element by element
_NARROW_BYTES = {4: 256, 2: 512}  # from here on rows are read one by one, by element size
_INDEX = 1 << 31


def choose(request: SoftmaxRequest) -> Choice:
    """The kernel for `request`, how it is launched, and the reason in a sentence.

    Raises `GenerationError` for a device without the instructions (before 8.0).
    """
    if request.capability < (8, 0):
        major, minor = request.capability
        raise GenerationError(
            f"compute capability {major}.{minor}", hint="softmax kernels need 8.0 or newer"
        )
    if request.across is not None:
        return _across(request)
    narrow = _narrow(request)
    if narrow is not None:
        return narrow
    vector, ragged = _vector(request)
    vectors = request.columns // vector if ragged else -(-request.columns // vector)
    held = held_shape(request, vector, vectors)
    if held is None or streams_alone(request, vectors):
        held = streamed_shape(vector, vectors)
    kernel = SoftmaxKernel(
        tile=_wide_enough(held.tile) if ragged else held.tile,
        dtype=request.dtype,
        out_dtype=request.out_dtype,
        form=held.form,
        ragged=ragged,
        held=held.held,
        mask_modes=None if request.mask is None else len(request.mask.rows),
        lse=request.lse,
        wide=request.columns >= _INDEX,
        resident=held.resident,
    )
    return chosen(kernel, request, _reason(request, kernel, vectors, ragged))


def _across(request: SoftmaxRequest) -> Choice:
    """The kernel of rows that run across memory."""
    if request.columns >= _INDEX:
        raise GenerationError(
            f"{request.columns} columns across memory", hint="make the axis the innermost one"
        )
    shape = across_shape(request)
    tile = shape.tile
    kernel = AcrossKernel(
        tile,
        request.dtype,
        request.out_dtype,
        held=shape.held,
        mask_modes=None if request.mask is None else len(request.mask.rows),
        lse=request.lse,
        wide=request.rows >= _INDEX,
        resident=shape.resident,
    )
    times = "read once into registers" if shape.held else "statistics first, then read again"
    if request.out_dtype is None:
        times = "read once"
    return Choice(
        kernel=kernel,
        architecture=architecture(request.capability),
        grid=(-(-request.rows // tile.block_rows), 1, 1),
        block=(tile.threads, 1, 1),
        parameters=kernel.parameters,
        reason=(
            f"rows of {request.columns} {request.dtype} run across memory: {tile.block_rows} of "
            f"them a block, {tile.vector} a thread and {tile.step} columns at a time, {times}"
        ),
    )


def _narrow(request: SoftmaxRequest) -> Choice | None:
    """The kernel of rows that touch, where they are narrower than vectors can read one by one."""
    columns, size = request.columns, BYTES[request.dtype]
    strides = {request.row_stride} | ({request.out_row_stride} if request.out_dtype else set())
    touch = request.rows == 1 or strides == {columns}
    aligned = columns * size % _VECTOR_BYTES == 0
    wide = columns * size >= _NARROW_BYTES[size]
    if not touch or aligned or wide or request.start_alignment < _VECTOR_BYTES:
        return None
    rows = f"rows of {columns} {request.dtype} lie side by side"
    kernel: FewKernel | FlatKernel
    if columns & (columns - 1) == 0 and request.mask is None:
        few = few_tile(columns, request.dtype)
        kernel = FewKernel(few, request.dtype, request.out_dtype, request.lse)
        block_rows, threads = few.block_rows, few.threads
        reason = f"{rows}: {few.vector // columns} whole rows a vector, in one lane"
    else:
        flat = flat_tile(columns, request.dtype)
        if flat is None or request.out_dtype not in (request.dtype, None):
            return None
        modes = None if request.mask is None else len(request.mask.rows)
        kernel = FlatKernel(
            flat, columns, request.dtype, bool(request.out_dtype), modes, request.lse
        )
        block_rows, threads = flat.rows, flat.threads
        reason = (
            f"{rows} and begin anywhere in a vector: {flat.rows} of them at once through shared "
            f"memory, {flat.lanes} lane(s) a row"
        )
    return Choice(
        kernel=kernel,
        architecture=architecture(request.capability),
        grid=(-(-request.rows // block_rows), 1, 1),
        block=(threads, 1, 1),
        parameters=kernel.parameters,
        reason=reason,
    )


def chosen(kernel: SoftmaxKernel, request: SoftmaxRequest, reason: str) -> Choice:
    """The launch of `kernel` for `request`."""
    tile = kernel.tile
    if kernel.capacity is not None and request.columns > kernel.capacity + kernel.slack:
        raise GenerationError(
            f"{request.columns} columns for a kernel that holds {kernel.capacity}",
            hint="give it more repeats, threads or blocks, or stream",
        )
    blocks = -(-request.rows // tile.block_rows) * tile.cluster
    return Choice(
        kernel=kernel,
        architecture=architecture(request.capability),
        grid=(blocks, 1, 1),
        block=(tile.threads, 1, 1),
        cluster=(tile.cluster, 1, 1),
        parameters=kernel.parameters,
        reason=reason,
    )


def architecture(capability: tuple[int, int]) -> str:
    """What to compile for.

    >>> architecture((9, 0)), architecture((8, 6))
    ('sm_90a', 'sm_86')
    """
    major, minor = capability
    return f"sm_{major}{minor}{'a' if capability == (9, 0) else ''}"


def _vector(request: SoftmaxRequest) -> tuple[int, bool]:
    """Elements of a vector, and whether rows begin or end inside one."""
    size = BYTES[request.dtype]
    widest = _VECTOR_BYTES // size

    def fits(vector: int) -> bool:
        """Every row is whole vectors, aligned in x and, store by store, in out."""
        aligned = request.alignment >= vector * size and request.columns % vector == 0
        if request.out_dtype is None:
            return aligned
        stored = min(_VECTOR_BYTES, vector * BYTES[request.out_dtype])
        return aligned and request.out_alignment >= stored

    if fits(widest):
        return widest, False
    if request.columns >= _NARROW * widest:
        return widest, True
    vector = widest
    while not fits(vector):
        vector //= 2
    return vector, False


def _wide_enough(tile: SoftmaxTile) -> SoftmaxTile:
    """With a thread for each single column of a head and a tail."""
    if tile.row_threads >= 2 * tile.vector:
        return tile
    return SoftmaxTile(tile.vector, 2 * tile.vector, 1, tile.repeats, tile.row_warps)


def _reason(request: SoftmaxRequest, kernel: SoftmaxKernel, vectors: int, ragged: bool) -> str:
    tile, rows = kernel.tile, f"rows of {request.columns} {request.dtype}"
    if ragged:
        what = (
            f"{rows} begin anywhere in a vector: up to {tile.repeats} aligned vectors a thread and "
            "single columns at both ends"
        )
    elif tile.vector * BYTES[request.dtype] == _VECTOR_BYTES:
        what = f"{rows} are {vectors} aligned vectors: {tile.repeats} a thread"
    else:
        what = f"{rows} are read {tile.vector} at a time, {tile.repeats} times a thread"
    blocks = f" of {tile.cluster} blocks" if tile.cluster > 1 else ""
    threads = f"{tile.row_threads} threads{blocks} a row"
    if kernel.form == "rows":
        return f"{what}, {threads}, read once into registers"
    times = "read once" if kernel.out_dtype is None else "statistics first, then read again"
    return f"{what} and step, {threads}, {times}"
