// Adds the product of one 16x16 and one 16x8 FP16 operand to a 16x8 float accumulator; the whole warp
// takes part. PTX ISA, "Matrix Instructions: mma.sync.m16n8k16".
__device__ __forceinline__ void multiply_accumulate(
    float (&accumulator)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
        "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(accumulator[0]), "+f"(accumulator[1]), "+f"(accumulator[2]), "+f"(accumulator[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
