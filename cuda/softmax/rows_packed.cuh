// Rows held whole in registers as they lie in memory, chunk by chunk made float32 when needed: half
// the registers for 16-bit elements. Each element is read once and written once.
__device__ __forceinline__ void softmax_kernel(const Arguments& given) {
    const unsigned thread = threadIdx.x, rank = cluster_rank();
    start_cluster();
    const unsigned long long row = first_row(blockIdx.x) + row_of(thread);
    const Span span = span_of(given, row, thread, rank);
    unsigned words[word_registers];
    load_span(span, thread, rank, words);
    mask_words(given, span, row, thread, rank, words);
    float lane_maxima[1] = {-lane_infinity()}, lane_sums[1] = {0.0f}, rescale[1];
    float scores[values], weights[values], edge[1];
    unpack_edge(words, edge);
    update_edge(edge, lane_maxima, lane_sums, edge, rescale);
#pragma unroll
    for (unsigned chunk = 0; chunk < chunks; ++chunk) {
        unpack(words, chunk, scores);
        softmax_update(scores, lane_maxima, lane_sums, weights, rescale);
    }
    float part_maximum[1], part_sum[1], maximum[1], sum[1];
    merge_lanes(lane_maxima, lane_sums, part_maximum, part_sum, rescale);
    exchange(thread, rank, part_maximum, part_sum, maximum, sum);
    store_log_sum_exp(given, row, thread, rank, maximum, sum);
    if (!writes_probabilities) {
        return;
    }
    // The compiler would keep what it unpacked, and run out of registers.
#pragma unroll
    for (unsigned word = 0; word < word_registers; ++word) {
        asm volatile("" : "+r"(words[word]));
    }
    unpack_edge(words, edge);
    edge_probabilities(edge, maximum, sum, edge);
    store_edge(span, edge[0]);
#pragma unroll
    for (unsigned chunk = 0; chunk < chunks; ++chunk) {
        unpack(words, chunk, scores);
        softmax_probabilities(scores, maximum, sum, weights);
        store_span(span, thread, rank, chunk, weights);
    }
}
