// 16 bytes of global memory at once, where they are wanted; elsewhere the fill, and no access.
__device__ __forceinline__ void load_16(
    const void* from, bool wanted, unsigned fill, unsigned& a, unsigned& b, unsigned& c, unsigned& d) {
    asm volatile(
        "{ .reg .pred wanted; setp.ne.u32 wanted, %5, 0; "
        "mov.u32 %0, %6; mov.u32 %1, %6; mov.u32 %2, %6; mov.u32 %3, %6; "
        "@wanted ld.global.v4.u32 {%0, %1, %2, %3}, [%4]; }"
        : "=r"(a), "=r"(b), "=r"(c), "=r"(d)
        : "l"(from), "r"((unsigned)wanted), "r"(fill));
}

__device__ __forceinline__ void store_16(void* to, bool wanted, unsigned a, unsigned b, unsigned c, unsigned d) {
    asm volatile(
        "{ .reg .pred wanted; setp.ne.u32 wanted, %1, 0; "
        "@wanted st.global.v4.u32 [%0], {%2, %3, %4, %5}; }"
        :: "l"(to), "r"((unsigned)wanted), "r"(a), "r"(b), "r"(c), "r"(d) : "memory");
}
