// The statistics of all warps along a row, once they lie in shared memory.
__device__ __forceinline__ void read_parts(
    const float2 (&part)[slots], unsigned thread, float (&maximum)[1], float (&sum)[1]) {
    float maxima[parts_of_lane], sums[parts_of_lane], rescales[parts_of_lane];
#pragma unroll
    for (unsigned value = 0; value < parts_of_lane; ++value) {
        const float2 each = part[part_slot(thread, value)];
        maxima[value] = each.x;
        sums[value] = each.y;
    }
    merge_parts(maxima, sums, maximum, sum, rescales);
}
