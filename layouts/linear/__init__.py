"""Linear layouts over F2: bit maps between named dimensions, and their algebra."""

from tylo.layouts.linear.build import (
    from_layout,
    identity,
    strided,
    to_layout,
    to_swizzle,
    zeros,
)
from tylo.layouts.linear.product import divide_left, divide_right, product, quotient
from tylo.layouts.linear.reshape import (
    reshape_ins,
    reshape_outs,
    sublayout,
    transpose_ins,
    transpose_outs,
)
from tylo.layouts.linear.solve import (
    common_bases,
    compose,
    free_variables,
    invert,
    invert_and_compose,
    is_injective,
    is_invertible,
    is_surjective,
    pseudo_invert,
)
from tylo.layouts.linear.value import LinearLayout

__all__ = [
    "LinearLayout",
    "common_bases",
    "compose",
    "divide_left",
    "divide_right",
    "free_variables",
    "from_layout",
    "identity",
    "invert",
    "invert_and_compose",
    "is_injective",
    "is_invertible",
    "is_surjective",
    "product",
    "pseudo_invert",
    "quotient",
    "reshape_ins",
    "reshape_outs",
    "strided",
    "sublayout",
    "to_layout",
    "to_swizzle",
    "transpose_ins",
    "transpose_outs",
    "zeros",
]
