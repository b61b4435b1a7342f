// A Boolean mask as bits, and what each step of keys keeps. A block packs one record of keys for the
// rows of one block of attention; a warp's votes over a row are the record's words.
// Eight keys of a row, a byte each, zero where there is none.
__device__ __forceinline__ unsigned long long load_keys(
    const unsigned char* row, long long stride, int first, int keys) {
    const unsigned char* const at = row + first * stride;
    if (stride == 1 && first + 8 <= keys && (reinterpret_cast<unsigned long long>(at) & 7ull) == 0ull)
        return *reinterpret_cast<const unsigned long long*>(at);
    unsigned long long bytes = 0ull;
#pragma unroll
    for (int i = 0; i < 8; ++i)
        if (first + i < keys && row[(first + i) * stride] != 0u) bytes |= 1ull << (8 * i);
    return bytes;
}

extern "C" __global__ void __launch_bounds__(packing_threads)
pack_mask(
    const unsigned char* mask, unsigned* bits, unsigned char* kept,
    long long mask_batch, long long mask_head, long long mask_row, long long mask_key,
    int heads, int rows, int keys, int row_tiles, int records, int tiles) {
    const unsigned thread = threadIdx.x;
    const unsigned lane = LANE_OF_THREAD, warp = WARP_OF_THREAD;
    const int record = static_cast<int>(blockIdx.x) % records;
    const int rest = static_cast<int>(blockIdx.x) / records;
    const int row_tile = rest % row_tiles, flat_head = rest / row_tiles;
    const unsigned char* const head
        = mask + flat_head / heads * mask_batch + flat_head % heads * mask_head;
    const int first_row = row_tile * block_rows;
    const int first_key = record * record_keys + static_cast<int>(EIGHT_KEYS);
    unsigned* const words_of = bits
        + (static_cast<long long>(flat_head) * records + record) * rows * record_words;
    // Bit p of `some`: a key of step p is kept. Bit groups * p + g of `lost`: one is dropped by a row
    // of group g.
    unsigned some = 0u, lost = 0u;
#pragma unroll
    for (unsigned group = 0u; group < groups; ++group) {
        unsigned long long loaded[turns];
#pragma unroll
        for (unsigned turn = 0u; turn < turns; ++turn) {
            const int row = first_row + static_cast<int>(PACKED_ROW);
            loaded[turn] = row < rows
                ? load_keys(head + row * mask_row, mask_key, first_key, keys) : 0ull;
        }
#pragma unroll
        for (unsigned turn = 0u; turn < turns; ++turn) {
            const int row = first_row + static_cast<int>(PACKED_ROW);
            if (row >= rows) continue;
            unsigned words[record_words];
            VOTES
#pragma unroll
            for (unsigned part = 0u; part < parts; ++part) {
                const unsigned own_bits = part_bits << (part_shift * part);
#pragma unroll
                for (unsigned word = 0u; word < record_words; ++word) {
                    if ((words[word] & own_bits) != 0u) some |= 1u << part;
                    if ((words[word] & own_bits) != own_bits) lost |= 1u << (groups * part + group);
                }
            }
            if (lane == 0u)
                *reinterpret_cast<uint4*>(words_of + static_cast<long long>(row) * record_words)
                    = make_uint4(words[0], words[1], words[2], words[3]);
        }
    }
    __shared__ unsigned some_of[packing_warps], lost_of[packing_warps];
    if (lane == 0u) {
        some_of[warp] = some;
        lost_of[warp] = lost;
    }
    __syncthreads();
    if (thread != 0u) return;
    for (unsigned other = 1u; other < packing_warps; ++other) {
        some |= some_of[other];
        lost |= lost_of[other];
    }
#pragma unroll
    for (unsigned part = 0u; part < parts; ++part) {
        constexpr unsigned all = (1u << groups) - 1u;
        const unsigned dropped = lost >> (groups * part) & all;
        // One row may stand for all: what it loses, every group does.
        const unsigned whole = rows == 1 && dropped != 0u ? 0u : ~dropped & all;
        // All of nothing is no reason to take a step.
        const unsigned byte = (some >> part & 1u) != 0u ? 1u | whole << 1 : 0u;
        kept[(static_cast<long long>(flat_head) * row_tiles + row_tile) * tiles
            + record * static_cast<int>(parts) + static_cast<int>(part)]
            = static_cast<unsigned char>(byte);
    }
}
