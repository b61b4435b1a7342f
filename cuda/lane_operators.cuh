// The instructions and constants of lane programs that CUDA C++ has no spelling for without a header.
// `max` and `min` of two floats drop a NaN in C; these keep it.
__device__ __forceinline__ float lane_infinity() { return __uint_as_float(0x7f800000u); }

__device__ __forceinline__ float lane_nan() { return __uint_as_float(0x7fffffffu); }

__device__ __forceinline__ float lane_maximum(float a, float b) {
    float result;
    asm("max.NaN.f32 %0, %1, %2;" : "=f"(result) : "f"(a), "f"(b));
    return result;
}

__device__ __forceinline__ float lane_minimum(float a, float b) {
    float result;
    asm("min.NaN.f32 %0, %1, %2;" : "=f"(result) : "f"(a), "f"(b));
    return result;
}

__device__ __forceinline__ float lane_ex2(float a) {
    float result;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(a));
    return result;
}

__device__ __forceinline__ float lane_lg2(float a) {
    float result;
    asm("lg2.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(a));
    return result;
}

__device__ __forceinline__ float lane_low_f16(unsigned word) {
    float result;
    asm("{ .reg .b16 low, high; mov.b32 {low, high}, %1; cvt.f32.f16 %0, low; }"
        : "=f"(result) : "r"(word));
    return result;
}

__device__ __forceinline__ float lane_high_f16(unsigned word) {
    float result;
    asm("{ .reg .b16 low, high; mov.b32 {low, high}, %1; cvt.f32.f16 %0, high; }"
        : "=f"(result) : "r"(word));
    return result;
}

__device__ __forceinline__ unsigned lane_pack_bf16(float low, float high) {
    unsigned word;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(word) : "f"(high), "f"(low));
    return word;
}

__device__ __forceinline__ unsigned lane_pack_f16(float low, float high) {
    unsigned word;
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(word) : "f"(high), "f"(low));
    return word;
}

__device__ __forceinline__ unsigned lane_maximum_bf16(unsigned a, unsigned b) {
    unsigned word;
    asm("max.NaN.bf16x2 %0, %1, %2;" : "=r"(word) : "r"(a), "r"(b));
    return word;
}

__device__ __forceinline__ unsigned lane_maximum_f16(unsigned a, unsigned b) {
    unsigned word;
    asm("max.NaN.f16x2 %0, %1, %2;" : "=r"(word) : "r"(a), "r"(b));
    return word;
}
