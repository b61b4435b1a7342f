// A row that is a whole number of vectors, each of them aligned.
struct Span {
    const Element* x;
    Result* out;
    column_t first, body;
};

__device__ __forceinline__ Span span_of(
    const Arguments& given, unsigned long long row, unsigned, unsigned) {
    Span span;
    span.x = given.x + row * given.row_stride;
    span.out = result_row(given, row);
    span.first = 0;
    span.body = row < given.rows ? given.columns : 0;
    return span;
}
