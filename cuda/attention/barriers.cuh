// Barriers in shared memory (mbarrier), addressed by 32-bit shared addresses, and rings of slots.
// A ring's tile is in `slot`; `parity` is that of the phase its slot's barriers are in.
struct Ring {
    unsigned slot, parity;
};

__device__ __forceinline__ unsigned shared_address(const void* pointer) {
    return static_cast<unsigned>(__cvta_generic_to_shared(pointer));
}

__device__ __forceinline__ void make_barriers(unsigned first, unsigned slots, unsigned arrivals) {
    for (unsigned slot = 0u; slot < slots; ++slot)
        asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;"
                     :: "r"(first + 8u * slot), "r"(arrivals) : "memory");
}

// Makes initialised barriers visible to the copy engine; a block barrier must follow.
__device__ __forceinline__ void publish_barriers() {
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

__device__ __forceinline__ void wait_parity(unsigned barrier, unsigned parity) {
    unsigned open;
    do {
        asm volatile(
            "{\n.reg .pred open;\n"
            "mbarrier.try_wait.parity.shared::cta.b64 open, [%1], %2;\n"
            "selp.u32 %0, 1, 0, open;\n}"
            : "=r"(open) : "r"(barrier), "r"(parity) : "memory");
    } while (!open);
}

__device__ __forceinline__ void wait(unsigned first, const Ring& ring) {
    wait_parity(first + 8u * ring.slot, ring.parity);
}

// For the phase before: a fresh barrier lets it pass.
__device__ __forceinline__ void wait_before(unsigned first, const Ring& ring) {
    wait_parity(first + 8u * ring.slot, ring.parity ^ 1u);
}

__device__ __forceinline__ void expect(unsigned first, const Ring& ring, unsigned bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;"
                 :: "r"(first + 8u * ring.slot), "r"(bytes) : "memory");
}

// Once per warp. `after` is 0, computed from what must have happened before.
__device__ __forceinline__ void arrive(
    unsigned first, const Ring& ring, unsigned lane, unsigned after) {
    if (lane == 0u)
        asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];"
                     :: "r"(first + 8u * ring.slot + after) : "memory");
}

template <unsigned slots>
__device__ __forceinline__ void advance(Ring& ring) {
    if (++ring.slot == slots) {
        ring.slot = 0u;
        ring.parity ^= 1u;
    }
}

// Named barriers of the block. Number 0 is __syncthreads().
__device__ __forceinline__ void named_wait(unsigned number, unsigned threads) {
    asm volatile("bar.sync %0, %1;" :: "r"(number), "r"(threads) : "memory");
}

__device__ __forceinline__ void named_arrive(unsigned number, unsigned threads) {
    asm volatile("bar.arrive %0, %1;" :: "r"(number), "r"(threads) : "memory");
}
