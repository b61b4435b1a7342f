// Loads four 8x8 matrices of 16-bit elements from shared memory, one to a register. Each lane hands
// in the address of one row: lanes 0-7 those of matrix 0, lanes 8-15 those of matrix 1, and so on.
// PTX ISA, "Warp-level matrix load instruction: ldmatrix".
__device__ __forceinline__ void load_matrices(const unsigned* row, unsigned (&words)[4]) {
    const unsigned address = static_cast<unsigned>(__cvta_generic_to_shared(row));
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(words[0]), "=r"(words[1]), "=r"(words[2]), "=r"(words[3])
                 : "r"(address)
                 : "memory");
}
