"""A result that is still being written cannot be read, reduced or mapped."""

import numpy
import pytest

from tylo.layouts.atoms import atom
from tylo.layouts.errors import PendingError, TyloError
from tylo.layouts.fragment import gather
from tylo.layouts.pending import Pending, completed
from tylo.layouts.reduction import reduction

C = atom("wgmma.m64n8k16.bf16").operand("C").ownership
MATRIX = numpy.arange(512, dtype=numpy.float32).reshape(64, 8)


@pytest.mark.parametrize(
    "use",
    [
        lambda pending: pending.data,
        lambda pending: pending.map(numpy.add),
        lambda pending: reduction(pending, 1),
        completed,
    ],
)
def test_reading_before_the_wait_is_an_error_of_its_own(use) -> None:
    with pytest.raises(PendingError, match=r"still writing; .* wait\(\)") as refused:
        use(Pending(gather(MATRIX, C)))
    assert isinstance(refused.value, TyloError)


def test_after_the_wait_it_is_the_fragment() -> None:
    fragment = gather(MATRIX, C)
    pending = Pending(fragment)
    assert pending.ownership is C
    assert pending.wait() is fragment is completed(fragment)
    assert reduction(pending.wait().ownership, 1).lane_masks == (1, 2)
    assert "arange" not in repr(pending)
    assert "_fragment" not in repr(pending)
