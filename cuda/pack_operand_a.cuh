// One block converts one row-major tile: loads the accumulator that its lanes own, packs it in the
// same lanes, and stores the words that they own of the A operand.
extern "C" __global__ void __launch_bounds__(threads)
tylo_pack_operand_a(const float* __restrict__ accumulator, unsigned* __restrict__ words) {
    float held[accumulator_registers];
    load_accumulator(accumulator + blockIdx.x * tile_elements, threadIdx.x, held);
    unsigned packed[word_registers];
#pragma unroll
    for (unsigned k = 0; k < pairs; ++k) {
#pragma unroll
        for (unsigned m = 0; m < repeats_m; ++m) {
            pack_operand_a(held, m, k, packed);
        }
    }
    store_operand_a(packed, threadIdx.x, words + blockIdx.x * tile_words);
}
