// Every half that a thread packs must come from the row and column that the manual gives it.
//
// A matrix product codes one digit of the row, or of the column, into every accumulator element: the
// left factor is diagonal, so that element (row, column) is left[row][row] * right[row][column]. The
// products are made by mma.sync from factors that ldmatrix loads, so that it is the hardware that
// says who holds which element.
__device__ __forceinline__ void check_code(
    Report& report, unsigned plane, unsigned place, unsigned actual) {
    const unsigned coordinate = coordinates[threadIdx.x][place];
    const unsigned expected = codes[(coordinate >> digit_shifts[plane]) & largest_digit];
    check(report, expected == actual, place, expected, actual);
}

extern "C" __global__ void __launch_bounds__(threads) tylo_test_coordinates(unsigned* result) {
    __shared__ __align__(16) unsigned staged_left[staged_words];
    __shared__ __align__(16) unsigned staged_right[staged_words];
    Report report = {};
#pragma unroll 1
    for (unsigned plane = 0; plane < planes; ++plane) {
        float held[accumulator_registers] = {};
#pragma unroll
        for (unsigned k = 0; k < pairs; ++k) {
#pragma unroll
            for (unsigned m = 0; m < repeats_m; ++m) {
                __syncthreads();
                copy_row(
                    left_factors[plane] + left_row(threadIdx.x, m),
                    staged_left + staged_a(threadIdx.x));
                copy_row(
                    right_factors[plane] + right_row(threadIdx.x, k),
                    staged_right + staged_b(threadIdx.x));
                __syncthreads();
                unsigned a[4], b[4];
                load_matrices(staged_left + staged_a(threadIdx.x), a);
                load_matrices(staged_right + staged_b(threadIdx.x), b);
                float left[4] = {}, right[4] = {};
                multiply_accumulate(left, a, b[0], b[1]);
                multiply_accumulate(right, a, b[2], b[3]);
                place_pair(left, right, m, k, held);

                unsigned pair[4] = {};
                pack_operand_a(left, right, pair);
#pragma unroll
                for (unsigned word = 0; word < 4; ++word) {
#pragma unroll
                    for (unsigned half = 0; half < 2; ++half) {
                        check_code(
                            report, plane, half_number(word, half, m, k), half_of(pair[word], half));
                    }
                }
            }
        }
        unsigned packed[word_registers] = {};
#pragma unroll
        for (unsigned k = 0; k < pairs; ++k) {
#pragma unroll
            for (unsigned m = 0; m < repeats_m; ++m) {
                pack_operand_a(held, m, k, packed);
            }
        }
#pragma unroll
        for (unsigned word = 0; word < word_registers; ++word) {
#pragma unroll
            for (unsigned half = 0; half < 2; ++half) {
                check_code(
                    report, plane, half_number(word, half, 0, 0), half_of(packed[word], half));
            }
        }
    }
    publish(report, result);
}
