// Blocks of a cluster that hold parts of one row: each warp writes its statistics into the shared
// memory of every block, and each block waits for the bytes of all of them. A barrier of the cluster
// would do, but its release waits for the memory of the whole device.
// PTX ISA, "mapa", "st.async", "mbarrier", "barrier.cluster".
__device__ __forceinline__ unsigned cluster_rank() {
    unsigned rank;
    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    return rank;
}

__device__ __forceinline__ unsigned statistics_barrier() {
    __shared__ unsigned long long barrier;
    return static_cast<unsigned>(__cvta_generic_to_shared(&barrier));
}

// A block writes into the others' memory only once they have all started, with barriers made.
__device__ __forceinline__ void start_cluster() {
    if (threadIdx.x == 0) {
        const unsigned barrier = statistics_barrier();
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" :: "r"(barrier) : "memory");
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;"
            :: "r"(barrier), "n"(slots * sizeof(float2)) : "memory");
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    asm volatile("barrier.cluster.arrive.relaxed;" ::: "memory");
}

__device__ __forceinline__ void join_cluster() {
    asm volatile("barrier.cluster.wait.acquire;" ::: "memory");
}

__device__ __forceinline__ unsigned address_in(unsigned block, unsigned here) {
    unsigned there;
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(here), "r"(block));
    return there;
}

__device__ __forceinline__ void exchange(
    unsigned thread, unsigned rank, const float (&part_maximum)[1],
    const float (&part_sum)[1], float (&maximum)[1], float (&sum)[1]) {
    __shared__ float2 parts[slots];
    const unsigned barrier = statistics_barrier();
    // One lane of the warp for each block.
    const unsigned block = part_copy(thread);
    if (block < cluster_blocks) {
        const unsigned here = static_cast<unsigned>(
            __cvta_generic_to_shared(&parts[own_slot(thread, rank)]));
        asm volatile(
            "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v2.f32 [%0], {%1, %2}, [%3];"
            :: "r"(address_in(block, here)), "f"(part_maximum[0]), "f"(part_sum[0]),
               "r"(address_in(block, barrier)) : "memory");
    }
    asm volatile(
        "{\n"
        ".reg .pred arrived;\n"
        "wait:\n"
        "mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 arrived, [%0], 0;\n"
        "@!arrived bra wait;\n"
        "}"
        :: "r"(barrier) : "memory");
    read_parts(parts, thread, maximum, sum);
}
