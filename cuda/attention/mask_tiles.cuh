// Which steps of keys a block takes under a packed mask: a byte for each, four to a word. Bit 0 says
// that some row of the block keeps a key of the step, bit 1 + g that every row of group g keeps all.
// The word before the one in use is loaded ahead. Producer and consumers walk the same bytes.
struct KeptTiles {
    const unsigned* words;
    unsigned here, next;

    // The last such step before `tile`, or -1. Its byte is in `here` until the next call.
    __device__ __forceinline__ int before(int tile) {
        while (tile > 0) {
            if (tile % 4 == 0) {
                here = next;
                if (tile >= 8) next = words[tile / 4 - 2];
            }
            const int steps = (tile - 1) % 4 + 1;
            const unsigned left = here << (32 - 8 * steps);
            // A byte is 0 as a whole where nothing is kept.
            if (left != 0u) return tile - 1 - __clz(static_cast<int>(left)) / 8;
            tile -= steps;
        }
        return -1;
    }

    __device__ __forceinline__ bool whole(int tile, unsigned group) const {
        return (here >> (8u * (static_cast<unsigned>(tile) % 4u) + 1u + group) & 1u) != 0u;
    }
};

__device__ __forceinline__ KeptTiles kept_tiles(const Arguments& given, const Work& work) {
    KeptTiles kept;
    kept.words = reinterpret_cast<const unsigned*>(
        given.kept + work.batch * given.kept_batch + work.head * given.kept_head
        + work.first_row / rows * given.kept_row);
    kept.here = work.tiles % 4 != 0 ? kept.words[work.tiles / 4] : 0u;
    kept.next = work.tiles >= 4 ? kept.words[work.tiles / 4 - 1] : 0u;
    return kept;
}
