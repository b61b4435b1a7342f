"""Attention forward on Hopper: softmax(scale * Q K^T + mask) V, with no score in global memory.

Tensors are (batch, heads, length, D). Every 64 query rows belong to one warpgroup, which keeps
their numerator, row maximum and row sum in registers while tiles of keys and values stream by:

    scores = Q K^T                               wgmma, both operands K-major in shared memory
    weights = 2^(c * (scores - maximum))         c = scale * log2 e
    numerator = rescale * numerator + rounded(weights) V        weights in registers, V MN-major

and at the end ``out = numerator / sum``, ``log-sum-exp = scale * maximum + ln sum``. The weights go
from the accumulator of one product to the operand of the next in the same lanes.

`references` says what the numbers should be.
"""
