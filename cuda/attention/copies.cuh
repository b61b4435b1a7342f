// Copies of boxes by the tensor memory accelerator, and matrices from registers to shared memory.
struct alignas(64) TensorMap {
    unsigned long long words[16];
};

// Coordinates innermost first, in elements; what lies outside the tensor arrives as zero.
__device__ __forceinline__ void load_box(
    unsigned target, const TensorMap& map, unsigned barrier,
    int column, int row, int head, int batch, unsigned long long policy) {
    asm volatile(
        "cp.async.bulk.tensor.4d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
        ".L2::cache_hint [%0], [%1, {%3, %4, %5, %6}], [%2], %7;"
        :: "r"(target), "l"(&map), "r"(barrier), "r"(column), "r"(row), "r"(head), "r"(batch),
           "l"(policy) : "memory");
}

// What lies outside the tensor is not written.
__device__ __forceinline__ void store_box(
    const TensorMap& map, unsigned source, int column, int row, int head, int batch) {
    asm volatile(
        "cp.async.bulk.tensor.4d.global.shared::cta.tile.bulk_group [%0, {%2, %3, %4, %5}], [%1];"
        :: "l"(&map), "r"(source), "r"(column), "r"(row), "r"(head), "r"(batch) : "memory");
}

__device__ __forceinline__ void commit_stores() {
    asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}

// Until shared memory has been read, not until global memory has been written.
__device__ __forceinline__ void await_store_reads() {
    asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
}

// Ordinary writes to shared memory, made visible to copies and matrix products.
__device__ __forceinline__ void publish_shared() {
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

__device__ __forceinline__ void prefetch_map(const TensorMap& map) {
    asm volatile("prefetch.tensormap [%0];" :: "l"(&map) : "memory");
}

__device__ __forceinline__ void store_matrices(
    unsigned address, unsigned a, unsigned b, unsigned c, unsigned d) {
    asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};"
                 :: "r"(address), "r"(a), "r"(b), "r"(c), "r"(d) : "memory");
}

__device__ __forceinline__ bool elected() {
    unsigned chosen;
    asm volatile("{\n.reg .pred chosen;\nelect.sync _|chosen, 0xffffffff;\n"
                 "selp.u32 %0, 1, 0, chosen;\n}" : "=r"(chosen));
    return chosen != 0u;
}
