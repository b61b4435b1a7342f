// Packed words must work as operand A of the next matrix instruction.
//
// The packed accumulator times a second matrix is compared with the product in float64 of the
// rounded numbers. Variant 0 holds small integers, whose product is exact: the bits must agree.
// Variant 1 holds fractions; the product lies in the error bound of the instruction's accumulation.
extern "C" __global__ void __launch_bounds__(threads)
tylo_test_second_instruction(unsigned* result) {
    __shared__ __align__(16) unsigned staged[staged_words];
    Report report = {};
#pragma unroll 1
    for (unsigned variant = 0; variant < variants; ++variant) {
        float held[accumulator_registers];
        load_accumulator(reinterpret_cast<const float*>(source[variant]), threadIdx.x, held);
        unsigned packed[word_registers] = {};
#pragma unroll
        for (unsigned k = 0; k < pairs; ++k) {
#pragma unroll
            for (unsigned m = 0; m < repeats_m; ++m) {
                pack_operand_a(held, m, k, packed);
            }
        }
#pragma unroll
        for (unsigned m = 0; m < repeats_m; ++m) {
            float left[4] = {}, right[4] = {};
#pragma unroll
            for (unsigned k = 0; k < pairs; ++k) {
                __syncthreads();
                copy_row(
                    second_factor[variant] + factor_row(threadIdx.x, k),
                    staged + staged_b(threadIdx.x));
                __syncthreads();
                unsigned a[4], b[4];
#pragma unroll
                for (unsigned word = 0; word < 4; ++word) {
                    a[word] = packed[word_number(word, m, k)];
                }
                load_matrices(staged + staged_b(threadIdx.x), b);
                multiply_accumulate(left, a, b[0], b[1]);
                multiply_accumulate(right, a, b[2], b[3]);
            }
#pragma unroll
            for (unsigned value = 0; value < 8; ++value) {
                const unsigned place = product_number(value, m);
                const unsigned low = lowest[variant][threadIdx.x][place];
                const unsigned high = highest[variant][threadIdx.x][place];
                const float actual = value < 4 ? left[value] : right[value - 4];
                const bool between =
                    __uint_as_float(low) <= actual && actual <= __uint_as_float(high);
                const bool holds = low == high ? low == __float_as_uint(actual) : between;
                check(report, holds, place, low, __float_as_uint(actual));
            }
        }
    }
    publish(report, result);
}
