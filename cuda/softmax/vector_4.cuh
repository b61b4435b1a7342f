// 4 bytes of global memory at once, where they are wanted; elsewhere the fill, and no access.
__device__ __forceinline__ void load_4(
    const void* from, bool wanted, unsigned fill, unsigned& a) {
    asm volatile(
        "{ .reg .pred wanted; setp.ne.u32 wanted, %2, 0; "
        "mov.u32 %0, %3; "
        "@wanted ld.global.u32 %0, [%1]; }"
        : "=r"(a)
        : "l"(from), "r"((unsigned)wanted), "r"(fill));
}

__device__ __forceinline__ void store_4(void* to, bool wanted, unsigned a) {
    asm volatile(
        "{ .reg .pred wanted; setp.ne.u32 wanted, %1, 0; "
        "@wanted st.global.u32 [%0], %2; }"
        :: "l"(to), "r"((unsigned)wanted), "r"(a) : "memory");
}
