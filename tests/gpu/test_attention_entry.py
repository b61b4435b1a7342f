"""tylo.kernels.attention on torch tensors: meaning, views, streams, graphs, the torch operator."""

from __future__ import annotations

import math
from typing import Any

import numpy
import pytest

import tylo
from tylo.codegen.attention.references import attention as reference
from tylo.layouts.errors import LaunchError

pytestmark = pytest.mark.gpu


@pytest.fixture(scope="module")
def torch() -> Any:
    found = pytest.importorskip("torch", reason="these tests are about torch's tensors")
    if not found.cuda.is_available() or found.cuda.get_device_capability() != (9, 0):
        pytest.skip("needs a device of compute capability 9.0")
    return found


def randn(torch: Any, *shape: int, dtype: str = "bfloat16") -> Any:
    return torch.randn(*shape, device="cuda", dtype=getattr(torch, dtype))


def wanted(torch: Any, q: Any, k: Any, v: Any, **options: Any) -> tuple[Any, Any]:
    arrays = [each.double().cpu().numpy() for each in (q, k, v)]
    mask = options.pop("mask", None)
    options |= {} if mask is None else {"mask": mask.cpu().numpy()}
    return reference(*arrays, **options)


def require_close(out: Any, exact: Any, slack: float = 6e-3) -> None:
    found = out.double().cpu().numpy()
    assert numpy.isfinite(found).all()
    assert numpy.linalg.norm(found - exact) <= slack * max(1e-30, numpy.linalg.norm(exact))


@pytest.mark.parametrize("depth", [64, 128])
@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_against_the_reference_and_torch(torch: Any, depth: int, dtype: str) -> None:
    torch.manual_seed(depth)
    for queries, keys in ((200, 200), (700, 1500), (1100, 1100), (3, 2000)):
        q = randn(torch, 2, 4, queries, depth, dtype=dtype)
        k, v = (randn(torch, 2, 2, keys, depth, dtype=dtype) for _ in range(2))
        for causal in (None, "top_left", "bottom_right"):
            out, lse = tylo.kernels.attention(
                q, k, v, causal=causal, enable_gqa=True, return_lse=True
            )
            exact, exact_lse = wanted(torch, q, k, v, causal=causal)
            require_close(out, exact)
            found = lse.double().cpu().numpy()
            finite = numpy.isfinite(exact_lse)
            assert (numpy.isneginf(found) == ~finite).all()
            assert numpy.abs(found[finite] - exact_lse[finite]).max() < 1e-4
        theirs = torch.nn.functional.scaled_dot_product_attention(
            q, k, v, is_causal=True, enable_gqa=True
        )
        ours = tylo.kernels.attention(q, k, v, causal="top_left", enable_gqa=True)
        assert float((ours - theirs).abs().max()) < 0.06


def test_masks(torch: Any) -> None:
    torch.manual_seed(1)
    for depth in (64, 128):
        q, k, v = (randn(torch, 2, 3, 150, depth) for _ in range(3))
        for shape in ((2, 3, 150, 150), (2, 1, 1, 150), (150, 150), (3, 150, 1)):
            mask = torch.rand(*shape, device="cuda") < 0.4
            out = tylo.kernels.attention(q, k, v, mask=mask)
            require_close(out, wanted(torch, q, k, v, mask=mask)[0])
        transposed = (torch.rand(150, 150, device="cuda") < 0.4).T
        out = tylo.kernels.attention(q, k, v, mask=transposed)
        require_close(out, wanted(torch, q, k, v, mask=transposed)[0])
        # Rows of 301 bytes, and every second byte: no load of eight keys is aligned.
        wide = torch.rand(150, 301, device="cuda") < 0.4
        for view in (wide[:, 1:151], wide[:, ::2][:, :150]):
            out = tylo.kernels.attention(q, k, v, mask=view)
            require_close(out, wanted(torch, q, k, v, mask=view)[0])
        out, lse = tylo.kernels.attention(
            q, k, v, mask=torch.zeros(1, 1, device="cuda", dtype=torch.bool), return_lse=True
        )
        assert not out.any()
        assert bool((lse == -math.inf).all())


def test_views_need_no_copy(torch: Any) -> None:
    """Packed projections, every second key, slices of wider rows: as on contiguous copies."""
    torch.manual_seed(2)
    packed = randn(torch, 2, 300, 3, 4, 64)
    q, k, v = (packed[:, :, part].transpose(1, 2) for part in range(3))
    plain = [each.contiguous() for each in (q, k, v)]
    same = tylo.kernels.attention(*plain)
    assert torch.equal(tylo.kernels.attention(q, k, v), same)
    rows = [packed[:, :, part] for part in range(3)]
    assert torch.equal(tylo.kernels.attention(*rows, layout="BSHD").transpose(1, 2), same)
    second = tylo.kernels.attention(plain[0], plain[1][:, :, ::2], plain[2][:, :, ::2])
    copied = tylo.kernels.attention(
        plain[0], plain[1][:, :, ::2].contiguous(), plain[2][:, :, ::2].contiguous()
    )
    assert torch.equal(second, copied)
    out = torch.full((2, 300, 4, 64), math.nan, device="cuda", dtype=torch.bfloat16)
    assert tylo.kernels.attention(*rows, layout="BSHD", out=out) is out
    assert torch.equal(out.transpose(1, 2), same)
    with pytest.raises(LaunchError, match="elements of a row of q"):
        tylo.kernels.attention(plain[0].transpose(2, 3).contiguous().transpose(2, 3), *plain[1:])
    with pytest.raises(LaunchError, match="share memory"):
        tylo.kernels.attention(*plain, out=plain[1])
    flat = randn(torch, 2 * 4 * 300 * 64 + 8)
    moved = flat[1 : 1 + 2 * 4 * 300 * 64].view(2, 4, 300, 64)
    with pytest.raises(LaunchError, match="no multiple of 16 bytes"):
        tylo.kernels.attention(moved, *plain[1:])
    wide = plain[1][:, :1].expand(2, 4, 300, 64)
    with pytest.raises(LaunchError, match="heads of k are 0 bytes apart"):
        tylo.kernels.attention(plain[0], wide, plain[2])


def test_nothing_to_do(torch: Any) -> None:
    for shape in ((0, 2, 5, 64), (1, 0, 5, 64), (1, 2, 0, 64)):
        empty = randn(torch, *shape)
        assert tylo.kernels.attention(empty, empty, empty).shape == shape
    q, none = randn(torch, 1, 2, 5, 64), randn(torch, 1, 2, 0, 64)
    out, lse = tylo.kernels.attention(q, none, none, return_lse=True)
    assert not out.any()
    assert bool((lse == -math.inf).all())


def test_streams_and_graphs(torch: Any) -> None:
    torch.manual_seed(3)
    tensors = [[randn(torch, 2, 4, 1500, 64) for _ in range(3)] for _ in range(2)]
    plain = [tylo.kernels.attention(*each, causal="top_left") for each in tensors]
    torch.cuda.synchronize()
    streams = [torch.cuda.Stream() for _ in range(2)]
    for _ in range(20):
        found = []
        for stream, each in zip(streams, tensors, strict=True):
            with torch.cuda.stream(stream):
                found.append(tylo.kernels.attention(*each, causal="top_left"))
        torch.cuda.synchronize()
        assert all(torch.equal(a, b) for a, b in zip(found, plain, strict=True))
    q, k, v = tensors[0]
    out = torch.empty_like(q)
    tylo.kernels.attention(q, k, v, out=out)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        tylo.kernels.attention(q, k, v, out=out)
    q.copy_(tensors[1][0])
    out.zero_()
    graph.replay()
    torch.cuda.synchronize()
    assert torch.equal(out, tylo.kernels.attention(q, k, v))


def test_masks_on_streams_and_in_graphs(torch: Any) -> None:
    """A packed mask lives in memory of torch's, which is reused as soon as it is given back."""
    torch.manual_seed(9)
    q, k, v = (randn(torch, 1, 4, 700, 64) for _ in range(3))
    masks = [torch.rand(700, 700, device="cuda") < share for share in (0.1, 0.9)]
    plain = [tylo.kernels.attention(q, k, v, mask=mask) for mask in masks]
    torch.cuda.synchronize()
    streams = [torch.cuda.Stream() for _ in range(2)]
    for _ in range(20):
        found = []
        for stream, mask in zip(streams, masks, strict=True):
            found.append(tylo.kernels.attention(q, k, v, mask=mask, stream=stream))
        torch.cuda.synchronize()
        assert all(torch.equal(a, b) for a, b in zip(found, plain, strict=True))
    out, mask = torch.empty_like(q), masks[0].clone()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        tylo.kernels.attention(q, k, v, mask=mask, out=out)
    mask.copy_(masks[1])
    graph.replay()
    torch.cuda.synchronize()
    assert torch.equal(out, plain[1])


def test_a_bundle_runs(torch: Any, tmp_path: Any) -> None:
    from tylo.codegen.bundle import generate
    from tylo.codegen.run import run_bundle

    for given in ({"depth": 64, "stages": 2}, {"depth": 128, "keys": 128, "stages": 2}):
        folder = tmp_path / str(given["depth"])
        generate("attention", given, folder)
        report = run_bundle(folder, device="gpu")
        assert report.passed, report.summary()


def test_the_torch_operator(torch: Any) -> None:
    operator = tylo.kernels.attention_operator()
    q, k, v = (randn(torch, 1, 2, 333, 64) for _ in range(3))
    same = tylo.kernels.attention(q, k, v, causal="top_left")
    assert torch.equal(operator(q, k, v, None, "top_left"), same)
    torch.library.opcheck(
        torch.ops.tylo.attention_lse.default,
        (q, k, v),
        test_utils=("test_schema", "test_faketensor"),
    )
    with torch._subclasses.FakeTensorMode():
        fake = [torch.empty(2, 7, 4, 64, device="cuda", dtype=torch.float16) for _ in range(3)]
        out, lse = torch.ops.tylo.attention_lse(*fake, layout="BSHD")
        assert (out.shape, lse.shape) == ((2, 7, 4, 64), (2, 4, 7))


def test_offsets_beyond_32_bits(torch: Any) -> None:
    if torch.cuda.get_device_properties(0).total_memory < 60 << 30:
        pytest.skip("needs 40 GB of device memory")
    heads = 70_000
    q, k, v = (randn(torch, 1, heads, 512, 64) for _ in range(3))
    assert q.numel() > 2**31
    out, lse = tylo.kernels.attention(q, k, v, return_lse=True)
    for head in (0, heads - 1):
        one = [each[:, head : head + 1] for each in (q, k, v)]
        exact, exact_lse = wanted(torch, *one)
        require_close(out[:, head : head + 1], exact)
        assert numpy.abs(lse[0, head].double().cpu().numpy() - exact_lse[0, 0]).max() < 1e-4
