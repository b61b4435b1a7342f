"""The online softmax state on fragments.

>>> import numpy
>>> from tylo.layouts.fragment import gather, scatter
>>> from tylo.layouts.row_tiles import row_tile
>>> tile = row_tile(vector=2, lanes=1)
>>> zeros = gather(numpy.zeros((32, 2), numpy.float32), tile)
>>> updated = softmax_update(SoftmaxState(tile, axis=1), zeros)
>>> [float(scatter(each)[0]) for each in (updated.state.maximum, updated.state.sum)]
[0.0, 2.0]
>>> float(updated.rescale.data[0, 0])
0.0
>>> scatter(softmax_normalize(updated.weights, updated.state))[0].tolist()
[0.5, 0.5]

What every function computes is stated in `tylo.proofs.lane_programs.softmax`; the same graphs are
printed as CUDA by `tylo.codegen.softmax_state.cuda`.
"""

from tylo.codegen.softmax_state.functions import (
    Merged,
    Updated,
    log_sum_exp,
    softmax_merge,
    softmax_merge_lanes,
    softmax_normalize,
    softmax_probabilities,
    softmax_update,
)
from tylo.codegen.softmax_state.state import SoftmaxState, StateType

__all__ = [
    "Merged",
    "SoftmaxState",
    "StateType",
    "Updated",
    "log_sum_exp",
    "softmax_merge",
    "softmax_merge_lanes",
    "softmax_normalize",
    "softmax_probabilities",
    "softmax_update",
]
