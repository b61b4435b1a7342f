// One byte of a mask, where it is wanted; elsewhere 1, and no access.
__device__ __forceinline__ unsigned load_flag(const unsigned char* from, bool wanted) {
    unsigned flag;
    asm volatile(
        "{ .reg .pred wanted; setp.ne.u32 wanted, %2, 0; "
        "mov.u32 %0, 1; @wanted ld.global.u8 %0, [%1]; }"
        : "=r"(flag)
        : "l"(from), "r"((unsigned)wanted));
    return flag;
}
