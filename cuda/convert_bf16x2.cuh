// Rounds two floats to BF16, to nearest even, and packs them: `low` in bits 0-15, `high` in 16-31.
// PTX ISA, "Data Movement and Conversion Instructions: cvt": d = {a, b} packs a in the upper half.
__device__ __forceinline__ unsigned convert_x2(float low, float high) {
    unsigned word;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(word) : "f"(high), "f"(low));
    return word;
}
