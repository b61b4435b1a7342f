// Rows held whole in registers by blocks that stay, one row after another. While a row is weighed
// and written, the next one is on its way into shared memory. A thread takes back only what it asked
// for itself, so that no barrier is needed for it. Two turns of the exchange alternate: who writes
// into one has seen everybody through the barrier of the other.
__device__ __forceinline__ void softmax_kernel(const Arguments& given) {
    extern __shared__ __align__(16) unsigned char asked[];
    const unsigned thread = threadIdx.x, rank = cluster_rank();
    start_cluster();
    const unsigned long long pace = first_row(gridDim.x);
    unsigned long long first = first_row(blockIdx.x);
    unsigned long long row = first + row_of(thread);
    Span span = span_of(given, row, thread, rank);
    ask_span(span, thread, rank, asked);
    join_cluster();
    unsigned turn = 0;
#pragma unroll 1
    while (first < given.rows) {
        unsigned words[word_registers];
        wait_for_copies();
        take_span(span, thread, rank, asked, words);
        const Span next = span_of(given, row + pace, thread, rank);
        ask_span(next, thread, rank, asked);
        const unsigned char* const flags = row_flags(given, row);
        mask_words(given, span, flags, thread, rank, words);
        weigh_row(given, span, row, thread, rank, turn, words);
        span = next;
        first += pace;
        row += pace;
        turn ^= 1;
    }
}
