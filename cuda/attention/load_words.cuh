// Four 8x8 matrices of 16-bit elements, one to a register; each lane gives the address of one row.
// PTX ISA, "Warp-level matrix load instruction: ldmatrix".
__device__ __forceinline__ void load_words(unsigned address, unsigned (&words)[4]) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(words[0]), "=r"(words[1]), "=r"(words[2]), "=r"(words[3])
                 : "r"(address) : "memory");
}
