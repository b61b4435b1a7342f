// Blocks of a cluster that hold parts of one row: each warp writes its statistics into the shared
// memory of every block, so that one barrier of the cluster is enough.
// PTX ISA, "mapa", "barrier.cluster", "st" with .shared::cluster.
__device__ __forceinline__ unsigned cluster_rank() {
    unsigned rank;
    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    return rank;
}

// A block writes into the others' memory only once they have all started.
__device__ __forceinline__ void start_cluster() {
    asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory");
}

__device__ __forceinline__ void join_cluster() {
    asm volatile("barrier.cluster.wait.aligned;" ::: "memory");
}

__device__ __forceinline__ void exchange(
    unsigned thread, unsigned rank, const float (&part_maximum)[1],
    const float (&part_sum)[1], float (&maximum)[1], float (&sum)[1]) {
    __shared__ float2 parts[slots];
    // One lane of the warp for each block.
    const unsigned block = part_copy(thread);
    if (block < cluster_blocks) {
        const unsigned here = static_cast<unsigned>(
            __cvta_generic_to_shared(&parts[own_slot(thread, rank)]));
        unsigned there;
        asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(here), "r"(block));
        asm volatile("st.shared::cluster.v2.f32 [%0], {%1, %2};"
            :: "r"(there), "f"(part_maximum[0]), "f"(part_sum[0]) : "memory");
    }
    asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
    asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
    read_parts(parts, thread, maximum, sum);
}
