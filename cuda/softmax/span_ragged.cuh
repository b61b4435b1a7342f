// A row that begins or ends inside a vector. Its body is whole aligned vectors; the columns before
// (head) and after it (tail) are single ones, at most one for a thread: thread number e of the row
// takes column e of the head, and thread number vector + e column e of the tail.
struct Span {
    const Element* x;  // the body's
    Result* out;
    column_t first, body, tail_column;
    unsigned head, single;
    bool in_head, in_tail;  // this thread takes a single column there
    bool together;          // vectors of the output are aligned where those of the input are
};

__device__ __forceinline__ Span span_of(
    const Arguments& given, unsigned long long row, unsigned thread, unsigned rank) {
    Span span;
    const Element* x = given.x + row * given.row_stride;
    Result* out = result_row(given, row);
    const unsigned start =
        static_cast<unsigned>(reinterpret_cast<unsigned long long>(x) / sizeof(Element));
    const unsigned out_start =
        static_cast<unsigned>(reinterpret_cast<unsigned long long>(out) / sizeof(Result));
    const unsigned to_aligned = (0 - start) % vector;
    span.head = given.columns < to_aligned ? static_cast<unsigned>(given.columns) : to_aligned;
    const column_t rest = given.columns - span.head;
    const unsigned tail = static_cast<unsigned>(rest % vector);
    const bool live = row < given.rows;
    span.x = x + span.head;
    span.out = out + span.head;
    span.first = 0;
    span.body = live ? rest - tail : 0;
    span.together = (out_start - start) % vector == 0;
    span.single = single_column(thread, rank);
    span.in_head = live && span.single < span.head;
    span.in_tail = live && span.single >= vector && span.single < vector + tail;
    span.tail_column = rest - tail + (span.single - vector);
    return span;
}
