// Rows of few columns that lie side by side: a vector holds several whole rows.
__device__ __forceinline__ void softmax_kernel(const Arguments& given) {
    const unsigned thread = threadIdx.x;
    const unsigned long long total = given.rows * columns_of_row;
    const unsigned long long first = block_elements * static_cast<unsigned long long>(blockIdx.x);
    unsigned words[word_registers];
    load_elements(given, first, total, thread, words);
    float scores[values], maximum[results], sum[results];
    unpack(words, scores);
    softmax_enter(scores, maximum, sum, scores);
    store_log_sum_exp(given, first, total, thread, maximum, sum);
    if (writes_probabilities) {
        softmax_normalize(scores, sum);
        store_elements(given, first, total, thread, scores);
    }
}
