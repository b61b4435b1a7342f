// 2 bytes of global memory, where they are wanted; elsewhere the low half of the fill, and no access.
// The high half of the word is that of the fill.
__device__ __forceinline__ void load_2(
    const void* from, bool wanted, unsigned fill, unsigned& a) {
    asm volatile(
        "{ .reg .pred wanted; .reg .b16 low, high; setp.ne.u32 wanted, %2, 0; "
        "mov.b32 {low, high}, %3; @wanted ld.global.u16 low, [%1]; mov.b32 %0, {low, high}; }"
        : "=r"(a)
        : "l"(from), "r"((unsigned)wanted), "r"(fill));
}

__device__ __forceinline__ void store_2(void* to, bool wanted, unsigned a) {
    asm volatile(
        "{ .reg .pred wanted; .reg .b16 low, high; setp.ne.u32 wanted, %1, 0; "
        "mov.b32 {low, high}, %2; @wanted st.global.u16 [%0], low; }"
        :: "l"(to), "r"((unsigned)wanted), "r"(a) : "memory");
}
