// Rows held whole in registers: each element is read once and written once.
__device__ __forceinline__ void softmax_kernel(const Arguments& given) {
    const unsigned thread = threadIdx.x, rank = cluster_rank();
    start_cluster();
    const unsigned long long row = first_row(blockIdx.x) + row_of(thread);
    const Span span = span_of(given, row, thread, rank);
    unsigned words[word_registers];
    load_span(span, thread, rank, words);
    const unsigned char* const flags = row_flags(given, row);
    mask_words(given, span, flags, thread, rank, words);
    join_cluster();
    weigh_row(given, span, row, thread, rank, words);
}
