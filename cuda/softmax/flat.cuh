// Consecutive rows that lie side by side, of any width: a block copies its rows through shared memory
// in whole vectors, whatever the rows' own alignment, and its threads take them from there.
__device__ __forceinline__ void softmax_kernel(const Arguments& given) {
    extern __shared__ __align__(16) unsigned char shared_bytes[];
    Element* const tile = reinterpret_cast<Element*>(shared_bytes);
    const unsigned thread = threadIdx.x;
    const unsigned long long first = block_rows * static_cast<unsigned long long>(blockIdx.x);
    const unsigned long long left = given.rows - first;
    const unsigned rows_here = left < block_rows ? static_cast<unsigned>(left) : block_rows;
    const unsigned count = rows_here * given.columns, whole = count - count % vector;
    const Element* const x = given.x + first * given.columns;
    Result* const out = result_of(given, first * given.columns);
    for (unsigned at = copied(thread); at < whole; at += copied_step) {
        copy_16(tile + at, x + at);
    }
    wait_for_copies();
    if (whole + single(thread) < count) {
        tile[whole + single(thread)] = x[whole + single(thread)];
    }
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
            write_row(tile, row, given.columns, live, thread, scores);
        }
    }
    if (!writes_probabilities) {
        return;
    }
    __syncthreads();
    for (unsigned at = copied(thread); at < whole; at += copied_step) {
        const uint4 each = *reinterpret_cast<const uint4*>(tile + at);
        store_16(out + at, true, each.x, each.y, each.z, each.w);
    }
    if (whole + single(thread) < count) {
        out[whole + single(thread)] = tile[whole + single(thread)];
    }
}
