__device__ __forceinline__ unsigned half_of(unsigned word, unsigned half) {
    return half == 0 ? word & 0xffff : word >> 16;
}

// The same bits, or NaN and NaN.
__device__ __forceinline__ bool same_half(unsigned expected, unsigned actual) {
    const bool both_nan = (expected & 0x7fff) > infinity && (actual & 0x7fff) > infinity;
    return expected == actual || both_nan;
}
