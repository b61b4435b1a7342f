// Rows held whole in registers: each element is read once and written once.
__device__ __forceinline__ void softmax_kernel(const Arguments& given) {
    const unsigned thread = threadIdx.x, rank = cluster_rank();
    start_cluster();
    const unsigned long long row = first_row(blockIdx.x) + row_of(thread);
    const Span span = span_of(given, row, thread, rank);
    unsigned words[word_registers];
    load_span(span, thread, rank, words);
    mask_words(given, span, row, thread, rank, words);
    float scores[values], weights[values];
    unpack(words, 0, scores);
    float part_maximum[1] = {-lane_infinity()}, part_sum[1] = {0.0f}, rescale[1];
    softmax_update(scores, part_maximum, part_sum, weights, rescale);
    float maximum[1], sum[1];
    exchange(thread, rank, part_maximum, part_sum, maximum, sum);
    store_log_sum_exp(given, row, thread, rank, maximum, sum);
    finish(weights, part_maximum, maximum, sum);
    store_span(span, thread, rank, 0, weights);
}
