// What is known at launch only. Strides of the mask are in bytes, of `out` in elements.
struct Arguments {
    float* lse;
    float* out;
    const unsigned char* mask;
    long long mask_batch, mask_head, mask_row, mask_key;
    long long out_batch, out_head, out_row;
    int queries, keys, heads, sharing, diagonal;
    int row_tiles, items, run, alternate;
    float unit, scale, factor, lag;
    unsigned zero;
};

// One block's rows of one head: `tiles` steps of keys are visible to at least one of them.
struct Work {
    int first_row, head, key_head, batch, tiles;
};

// Item number `round` of this block, rounds alternating in direction where items shrink.
__device__ __forceinline__ int item_number(const Arguments& given, int round) {
    const int blocks = static_cast<int>(gridDim.x), block = static_cast<int>(blockIdx.x);
    return round * blocks + (given.alternate != 0 && (round & 1) ? blocks - 1 - block : block);
}

// Heads come in runs; inside a run the last rows of every head come first, because under a causal
// mask they take longest.
template <int rows, int step>
__device__ __forceinline__ Work work_of(const Arguments& given, int item) {
    const int in_run = given.run * given.row_tiles;
    const int run = item / in_run, rest = item - run * in_run;
    const int heads = min(given.run, given.items / given.row_tiles - run * given.run);
    const int from_last = rest / heads;
    const int flat_head = run * given.run + rest - from_last * heads;
    Work work;
    work.batch = flat_head / given.heads;
    work.head = flat_head - work.batch * given.heads;
    work.key_head = work.head / given.sharing;
    const int row_tile = given.row_tiles - 1 - from_last;
    work.first_row = row_tile * rows;
    const int end = min(given.keys, min(work.first_row + rows, given.queries) + given.diagonal);
    work.tiles = end <= 0 ? 0 : (end + step - 1) / step;
    return work;
}
