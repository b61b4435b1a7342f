// Rows that run across memory: threads side by side take rows side by side and go down the columns.
__device__ __forceinline__ void softmax_kernel(const Arguments& given) {
    const unsigned thread = threadIdx.x;
    const row_t row = first_row(blockIdx.x) + row_of(thread);
    const bool live = row < given.rows;
    const row_t inner = static_cast<row_t>(given.inner);
    const unsigned long long outer = row / inner;
    const unsigned long long within = row % inner;
    const Element* const x = given.x + (outer * given.row_stride + within);
    Result* const out = result_at(given, outer, within);
    float maxima[results], sums[results], rescales[results];
#pragma unroll
    for (unsigned value = 0; value < results; ++value) {
        maxima[value] = -lane_infinity();
        sums[value] = 0.0f;
    }
    unsigned words[word_registers];
    float scores[values], weights[values];
    column_t first = 0;
    do {
        load_columns(given, x, live, first, thread, words);
        mask_columns(given, row, live, first, thread, words);
        unpack(words, scores);
        softmax_update(scores, maxima, sums, weights, rescales);
        first += step_columns;
    } while (!held && first < given.columns);
    float part_maximum[results], part_sum[results], maximum[results], sum[results];
    merge_lanes(maxima, sums, part_maximum, part_sum, rescales);
    exchange(thread, part_maximum, part_sum, maximum, sum);
    store_log_sum_exp(given, row, live, thread, maximum, sum);
    if (!writes_probabilities) {
        return;
    }
    first = 0;
    do {
        if (!held) {
            load_columns(given, x, live, first, thread, words);
            mask_columns(given, row, live, first, thread, words);
            unpack(words, scores);
        }
        softmax_probabilities(scores, maximum, sum, weights);
        store_columns(given, out, live, first, thread, weights);
        first += step_columns;
    } while (!held && first < given.columns);
}
