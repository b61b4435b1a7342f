// What a thread does with its part of a row, held as float32 from the logits to the probabilities.
__device__ __forceinline__ void weigh_row(
    const Arguments& given, const Span& span, unsigned long long row, unsigned thread,
    unsigned rank, unsigned (&words)[word_registers]) {
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
