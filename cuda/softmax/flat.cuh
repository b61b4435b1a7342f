// Consecutive rows that lie side by side, of a width known when this is compiled: a block copies its
// rows through shared memory in whole vectors, whatever the rows' own alignment, and its threads take
// them from there. Only the last block may end inside a vector, which one thread takes apart.
__device__ __forceinline__ void softmax_kernel(const Arguments& given) {
    __shared__ __align__(16) Element tile[block_rows * columns_of_row];
    const unsigned thread = threadIdx.x;
    const unsigned long long first = block_rows * static_cast<unsigned long long>(blockIdx.x);
    const unsigned long long left = first < given.rows ? given.rows - first : 0;
    const unsigned rows_here = left < block_rows ? static_cast<unsigned>(left) : block_rows;
    const unsigned count = rows_here * columns_of_row;
    const Element* const x = given.x + first * columns_of_row;
    Result* const out = result_of(given, first * columns_of_row);
    const bool cut = count % vector != 0;
#pragma unroll
    for (unsigned step = 0; step < copies; ++step) {
        const unsigned at = copied(thread, step);
        if (at + vector <= count) {
            copy_16(tile + at, x + at);
        }
    }
    if (cut) {
#pragma unroll 1
        for (unsigned step = 0; step < copies; ++step) {
            const unsigned at = copied(thread, step);
            if (at < count && at + vector > count) {
                take_cut(x + at, tile + at, count - at);
            }
        }
    }
    wait_for_copies();
    __syncthreads();
#pragma unroll 1
    for (unsigned pass = 0; pass < passes; ++pass) {
        const unsigned row = row_of(thread, pass);
        const bool live = row < rows_here;
        float scores[values], maximum[1], sum[1];
        read_row(given, tile, first, row, live, thread, scores);
        softmax_enter(scores, maximum, sum, scores);
        store_log_sum_exp(given, first + row, live, thread, maximum, sum);
        if (writes_probabilities) {
            softmax_normalize(scores, sum);
            write_row(tile, row, live, thread, scores);
        }
    }
    if (!writes_probabilities) {
        return;
    }
    __syncthreads();
#pragma unroll
    for (unsigned step = 0; step < copies; ++step) {
        const unsigned at = copied(thread, step);
        if (at + vector <= count) {
            const uint4 each = *reinterpret_cast<const uint4*>(tile + at);
            store_16(out + at, true, each.x, each.y, each.z, each.w);
        }
    }
    if (cut) {
#pragma unroll 1
        for (unsigned step = 0; step < copies; ++step) {
            const unsigned at = copied(thread, step);
            if (at < count && at + vector > count) {
                put_cut(tile + at, out + at, count - at);
            }
        }
    }
}
