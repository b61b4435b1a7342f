// Rows of any width: the statistics of each lane's columns first, then the logits again.
// A lane holds the values of one step, however wide the row is.
__device__ __forceinline__ void softmax_kernel(const Arguments& given) {
    const unsigned thread = threadIdx.x, rank = cluster_rank();
    start_cluster();
    const unsigned long long row = first_row(blockIdx.x) + row_of(thread);
    Span span = span_of(given, row, thread, rank);
    const unsigned char* const flags = row_flags(given, row);
    float lane_maxima[1] = {-lane_infinity()}, lane_sums[1] = {0.0f}, rescale[1];
    unsigned words[word_registers];
    float scores[values], weights[values];
    do {
        load_span(span, thread, rank, words);
        mask_words(given, span, flags, thread, rank, words);
        unpack(words, 0, scores);
        softmax_update(scores, lane_maxima, lane_sums, weights, rescale);
        span.first += step_columns;
    } while (span.first < span.body);
    float part_maximum[1], part_sum[1], maximum[1], sum[1];
    merge_lanes(lane_maxima, lane_sums, part_maximum, part_sum, rescale);
    join_cluster();
    exchange(thread, rank, part_maximum, part_sum, maximum, sum);
    store_log_sum_exp(given, row, thread, rank, maximum, sum);
    if (!writes_probabilities) {
        return;
    }
    span.first = 0;
    do {
        load_span(span, thread, rank, words);
        mask_words(given, span, flags, thread, rank, words);
        unpack(words, 0, scores);
        softmax_probabilities(scores, maximum, sum, weights);
        store_span(span, thread, rank, 0, weights);
        span.first += step_columns;
    } while (span.first < span.body);
}
