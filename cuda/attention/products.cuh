// Warpgroup products: between start and wait, nothing may touch their registers. `settle` keeps the
// compiler from moving ordinary uses across, and costs no instruction.
template <int count>
__device__ __forceinline__ void settle(float (&values)[count]) {
#pragma unroll
    for (int i = 0; i < count; ++i) asm volatile("" : "+f"(values[i]) :: "memory");
}

template <int count>
__device__ __forceinline__ void settle(unsigned (&words)[count]) {
#pragma unroll
    for (int i = 0; i < count; ++i) asm volatile("" : "+r"(words[i]) :: "memory");
}

__device__ __forceinline__ void begin_products() {
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}

__device__ __forceinline__ void commit_products() {
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}

template <int pending>
__device__ __forceinline__ void await_products() {
    asm volatile("wgmma.wait_group.sync.aligned %0;" :: "n"(pending) : "memory");
}

__device__ __forceinline__ unsigned long long descriptor(unsigned low, unsigned high) {
    unsigned long long both;
    asm("mov.b64 %0, {%1, %2};" : "=l"(both) : "r"(low), "r"(high));
    return both;
}

template <int registers>
__device__ __forceinline__ void fewer_registers() {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" :: "n"(registers));
}

template <int registers>
__device__ __forceinline__ void more_registers() {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" :: "n"(registers));
}
