// 8 bytes of global memory at once, where they are wanted; elsewhere the fill, and no access.
__device__ __forceinline__ void load_8(
    const void* from, bool wanted, unsigned fill, unsigned& a, unsigned& b) {
    asm volatile(
        "{ .reg .pred wanted; setp.ne.u32 wanted, %3, 0; "
        "mov.u32 %0, %4; mov.u32 %1, %4; "
        "@wanted ld.global.v2.u32 {%0, %1}, [%2]; }"
        : "=r"(a), "=r"(b)
        : "l"(from), "r"((unsigned)wanted), "r"(fill));
}

__device__ __forceinline__ void store_8(void* to, bool wanted, unsigned a, unsigned b) {
    asm volatile(
        "{ .reg .pred wanted; setp.ne.u32 wanted, %1, 0; "
        "@wanted st.global.v2.u32 [%0], {%2, %3}; }"
        :: "l"(to), "r"((unsigned)wanted), "r"(a), "r"(b) : "memory");
}
