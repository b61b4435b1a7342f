// A scalar loop over a row, three times: its maximum, its sum, and then the probabilities.
// What streaming is compared with.
__device__ __forceinline__ void softmax_kernel(const Arguments& given) {
    const unsigned thread = threadIdx.x, rank = cluster_rank();
    const unsigned long long row = first_row(blockIdx.x) + row_of(thread);
    Span span = span_of(given, row, thread, rank);
    const unsigned char* const flags = row_flags(given, row);
    float lane_maxima[1] = {-lane_infinity()}, lane_sums[1] = {0.0f}, maximum[1], sum[1];
    unsigned words[word_registers];
    float scores[values], weights[values];
    do {
        load_span(span, thread, rank, words);
        mask_words(given, span, flags, thread, rank, words);
        unpack(words, 0, scores);
        raise_maximum(scores, lane_maxima);
        span.first += step_columns;
    } while (span.first < span.body);
    row_maximum(lane_maxima, maximum);
    span.first = 0;
    do {
        load_span(span, thread, rank, words);
        mask_words(given, span, flags, thread, rank, words);
        unpack(words, 0, scores);
        add_weights(scores, maximum, lane_sums);
        span.first += step_columns;
    } while (span.first < span.body);
    row_sum(lane_sums, sum);
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
