// Warps that hold parts of the same rows tell each other through shared memory: all leave their
// parts, a thread merges those of one row, and all read what came out.
__device__ __forceinline__ void exchange(
    unsigned thread, const float (&part_maximum)[results], const float (&part_sum)[results],
    float (&maximum)[results], float (&sum)[results]) {
    __shared__ float2 held_parts[slots];
    __shared__ float2 whole[block_rows];
    if (part_copy(thread) == 0u) {
#pragma unroll
        for (unsigned value = 0; value < results; ++value) {
            held_parts[own_slot(thread, value)] = make_float2(part_maximum[value], part_sum[value]);
        }
    }
    __syncthreads();
#pragma unroll
    for (unsigned turn = 0; turn < turns; ++turn) {
        const unsigned row = merged_row(thread, turn);
        if (row < block_rows) {
            float maxima[parts], sums[parts], rescales[parts], merged_maximum[1], merged_sum[1];
#pragma unroll
            for (unsigned part = 0; part < parts; ++part) {
                const float2 each = held_parts[part_slot(row, part)];
                maxima[part] = each.x;
                sums[part] = each.y;
            }
            merge_parts(maxima, sums, merged_maximum, merged_sum, rescales);
            whole[row] = make_float2(merged_maximum[0], merged_sum[0]);
        }
    }
    __syncthreads();
#pragma unroll
    for (unsigned value = 0; value < results; ++value) {
        const float2 each = whole[row_of(thread) + value];
        maximum[value] = each.x;
        sum[value] = each.y;
    }
}
