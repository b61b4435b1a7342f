"""Softmax of rows: requests, kernels, and which kernel answers which request."""

from tylo.codegen.softmax.choose import choose
from tylo.codegen.softmax.kernel import SoftmaxKernel
from tylo.codegen.softmax.request import MaskGeometry, SoftmaxRequest

__all__ = ["MaskGeometry", "SoftmaxKernel", "SoftmaxRequest", "choose"]
