// 16 bytes from global to shared memory, and the wait for all that a thread has asked for.
// PTX ISA, "cp.async", "cp.async.wait_all".
__device__ __forceinline__ void copy_16(void* to, const void* from) {
    const unsigned there = static_cast<unsigned>(__cvta_generic_to_shared(to));
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" :: "r"(there), "l"(from) : "memory");
}

__device__ __forceinline__ void wait_for_copies() {
    asm volatile("cp.async.wait_all;" ::: "memory");
}
