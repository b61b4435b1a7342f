// What a thread does with its part of a row, held as it lies in memory and made float32 chunk by
// chunk when needed: half the registers for 16-bit elements.

// The compiler would keep what it unpacked, and run out of registers.
__device__ __forceinline__ void forget_unpacked(unsigned (&words)[word_registers]) {
#pragma unroll
    for (unsigned word = 0; word < word_registers; ++word) {
        asm volatile("" : "+r"(words[word]));
    }
}

__device__ __forceinline__ void weigh_row(
    const Arguments& given, const Span& span, unsigned long long row, unsigned thread,
    unsigned rank, unsigned (&words)[word_registers]) {
    float greatest[1] = {-lane_infinity()}, lane_sum[1] = {0.0f};
    float scores[values], weights[values], edge[1];
    float part_maximum[1], part_sum[1], maximum[1], sum[1];
    raise_maximum(words, greatest);
    row_maximum(greatest, part_maximum);
    unpack_edge(words, edge);
    add_weight_of_edge(edge, part_maximum, lane_sum);
#pragma unroll
    for (unsigned chunk = 0; chunk < chunks; ++chunk) {
        unpack(words, chunk, scores);
        add_weights(scores, part_maximum, lane_sum);
    }
    row_sum(lane_sum, part_sum);
    exchange(thread, rank, part_maximum, part_sum, maximum, sum);
    store_log_sum_exp(given, row, thread, rank, maximum, sum);
    if (!writes_probabilities) {
        return;
    }
    forget_unpacked(words);
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
