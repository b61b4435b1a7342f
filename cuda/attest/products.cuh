// One warp per left operand multiplies it by every right operand. Registers come and go as they are,
// by thread and number: nothing here knows which element of a matrix they hold.
extern "C" __global__ void __launch_bounds__(32) tylo_attest_products(
    const unsigned (*lefts)[32][4],
    const unsigned (*rights)[32][2],
    const float (*added)[32][4],
    float (*results)[32][4],
    unsigned right_count) {
    unsigned left[4];
#pragma unroll
    for (unsigned word = 0; word < 4; ++word) {
        left[word] = lefts[blockIdx.x][threadIdx.x][word];
    }
    for (unsigned right = 0; right < right_count; ++right) {
        float held[4];
#pragma unroll
        for (unsigned value = 0; value < 4; ++value) {
            held[value] = added[right][threadIdx.x][value];
        }
        multiply_accumulate(
            held, left, rights[right][threadIdx.x][0], rights[right][threadIdx.x][1]);
        float (&result)[32][4] = results[blockIdx.x * right_count + right];
#pragma unroll
        for (unsigned value = 0; value < 4; ++value) {
            result[threadIdx.x][value] = held[value];
        }
    }
}
