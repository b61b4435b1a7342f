// What is known at launch only. Strides of packed masks are in words, of what they keep in bytes, of
// `out` in elements.
struct Arguments {
    float* lse;
    float* out;
    const unsigned* bits;
    const unsigned char* kept;
    long long bits_batch, bits_head, bits_record, bits_row;
    long long kept_batch, kept_head, kept_row;
    long long out_batch, out_head, out_row;
    int queries, keys, heads, sharing, diagonal;
    int row_tiles, places, all_heads, run, paired, whole_turns, shares;
    float unit, scale, factor, lag;
    unsigned zero;
    unsigned short last[share_places];
};

// One block's rows of one head: `tiles` steps of keys are visible to at least one of them.
struct Work {
    int first_row, head, key_head, batch, tiles;
    bool none;
};

// A place in the order of items, and which half of a pair of row blocks.
struct Turn {
    int item;
    bool early;
};

// The block's own halves, read once: parameters that were not read before take long to come.
__device__ __forceinline__ void read_shares(const Arguments& given, unsigned short* own) {
#pragma unroll 1
    for (int share = 0; share < given.shares; ++share)
        own[share] = given.last[static_cast<int>(blockIdx.x) * given.shares + share];
}

// What the block does in its `round`; nothing more once the item is negative. Where rows see more keys
// the later they come, they are paired, late with early, so that all pairs take alike; a pair is two
// rounds. What is left after `whole_turns` is shared out half by half, as `last` lists; each block's list
// ends with a half beyond all items.
__device__ __forceinline__ Turn turn_of(
    const Arguments& given, const unsigned short* own, int round) {
    const int blocks = static_cast<int>(gridDim.x);
    int item = (round >> given.paired) * blocks + static_cast<int>(blockIdx.x);
    int half = round & given.paired;
    const int share = round - (given.whole_turns << given.paired);
    if (share >= 0) {
        half = own[share];
        item = given.whole_turns * blocks + (half >> 1);
    }
    return {item < given.places * given.all_heads ? item : -1, (half & 1) != 0};
}

// Heads come in runs; inside a run the last rows of every head come first, because under a causal
// mask they take longest.
template <int rows, int step>
__device__ __forceinline__ Work work_of(const Arguments& given, const Turn& turn) {
    const int in_run = given.run * given.places;
    const int run = turn.item / in_run, rest = turn.item - run * in_run;
    const int heads = min(given.run, given.all_heads - run * given.run);
    const int place = rest / heads;
    const int flat_head = run * given.run + rest - place * heads;
    Work work;
    work.batch = flat_head / given.heads;
    work.head = flat_head - work.batch * given.heads;
    work.key_head = work.head / given.sharing;
    const int row_tile = turn.early ? place : given.row_tiles - 1 - place;
    // The middle of an odd number has no partner.
    work.none = turn.early && 2 * place + 1 == given.row_tiles;
    work.first_row = row_tile * rows;
    const int end = min(given.keys, min(work.first_row + rows, given.queries) + given.diagonal);
    work.tiles = end <= 0 ? 0 : (end + step - 1) / step;
    return work;
}
