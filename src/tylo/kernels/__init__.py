"""Kernels to call: tensors of any library in, results of the same library out.

    probabilities = tylo.kernels.softmax(scores)
    probabilities, lse = tylo.kernels.softmax(scores, mask=keep, return_lse=True)
    tylo.kernels.softmax(scores, out=buffer, stream=stream)
    out = tylo.kernels.attention(q, k, v, causal="bottom_right")

Nothing is copied, and neither torch nor CUDA is imported before a tensor asks for it.
`docs/kernels.md` says what is taken, what is refused, and on which stream things happen;
`docs/attention.md` is about attention.
"""

from tylo.kernels.attention import attention, attention_choice
from tylo.kernels.softmax import log_sum_exp, softmax, softmax_choice
from tylo.kernels.torch_attention import attention_operator
from tylo.kernels.torch_softmax import torch_operator

__all__ = [
    "attention",
    "attention_choice",
    "attention_operator",
    "log_sum_exp",
    "softmax",
    "softmax_choice",
    "torch_operator",
]
