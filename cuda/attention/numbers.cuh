// Approximate instructions are named; products and sums are contracted only where fma is written.
__device__ __forceinline__ float infinity() {
    return __int_as_float(0x7f800000);
}

__device__ __forceinline__ float power_of_two(float exponent) {
    float power;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(power) : "f"(exponent));
    return power;
}

__device__ __forceinline__ float logarithm_of_two(float value) {
    float logarithm;
    asm("lg2.approx.ftz.f32 %0, %1;" : "=f"(logarithm) : "f"(value));
    return logarithm;
}

// Unlike fmaxf, this keeps a NaN.
__device__ __forceinline__ float larger(float a, float b) {
    float maximum;
    asm("max.NaN.f32 %0, %1, %2;" : "=f"(maximum) : "f"(a), "f"(b));
    return maximum;
}
