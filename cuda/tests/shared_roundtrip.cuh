// Packed words must be what ldmatrix makes of a 16-bit matrix that was stored row by row.
//
// The matrix holds the source rounded by the oracle. It passes through shared memory, a 16x16
// operand of every warp at a time, and comes back in the lanes and registers of operand A.
extern "C" __global__ void __launch_bounds__(threads)
tylo_test_shared_roundtrip(unsigned* result) {
    __shared__ __align__(16) unsigned staged[staged_words];
    Report report = {};
    float held[accumulator_registers];
    load_accumulator(reinterpret_cast<const float*>(source), threadIdx.x, held);
    unsigned packed[word_registers] = {};
#pragma unroll
    for (unsigned k = 0; k < pairs; ++k) {
#pragma unroll
        for (unsigned m = 0; m < repeats_m; ++m) {
            pack_operand_a(held, m, k, packed);
        }
    }
#pragma unroll
    for (unsigned k = 0; k < pairs; ++k) {
#pragma unroll
        for (unsigned m = 0; m < repeats_m; ++m) {
            __syncthreads();
            copy_row(
                rounded + operand_row(threadIdx.x, m, k), staged + staged_a(threadIdx.x));
            __syncthreads();
            unsigned loaded[4];
            load_matrices(staged + staged_a(threadIdx.x), loaded);
            float left[4], right[4];
            take_pair(held, m, k, left, right);
            unsigned pair[4] = {};
            pack_operand_a(left, right, pair);
#pragma unroll
            for (unsigned word = 0; word < 4; ++word) {
#pragma unroll
                for (unsigned half = 0; half < 2; ++half) {
                    const unsigned place = half_number(word, half, m, k);
                    const unsigned expected = half_of(loaded[word], half);
                    const unsigned tiled = half_of(packed[word_number(word, m, k)], half);
                    check(report, same_half(expected, tiled), place, expected, tiled);
                    const unsigned alone = half_of(pair[word], half);
                    check(report, same_half(expected, alone), place, expected, alone);
                }
            }
        }
    }
    publish(report, result);
}
