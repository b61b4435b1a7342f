// Row-major 16x16 matrices pass through shared memory into operands, and are multiplied. `rows` says
// for each lane where the row begins, in words, that it hands to ldmatrix; the right matrix is
// transposed on the way, and its columns 8 to 15 make a second product.
extern "C" __global__ void __launch_bounds__(32) tylo_attest_memory(
    const uint4 (*lefts)[32],
    const uint4 (*rights)[32],
    const unsigned* rows,
    unsigned (*left_registers)[32][4],
    unsigned (*right_registers)[32][4],
    float (*results)[32][8]) {
    __shared__ uint4 staged_left[32];
    __shared__ uint4 staged_right[32];
    staged_left[threadIdx.x] = lefts[blockIdx.x][threadIdx.x];
    staged_right[threadIdx.x] = rights[blockIdx.x][threadIdx.x];
    __syncthreads();
    unsigned a[4], b[4];
    load_matrices(reinterpret_cast<const unsigned*>(staged_left) + rows[threadIdx.x], a);
    load_transposed_matrices(
        reinterpret_cast<const unsigned*>(staged_right) + rows[threadIdx.x], b);
    float low[4] = {}, high[4] = {};
    multiply_accumulate(low, a, b[0], b[1]);
    multiply_accumulate(high, a, b[2], b[3]);
#pragma unroll
    for (unsigned value = 0; value < 4; ++value) {
        left_registers[blockIdx.x][threadIdx.x][value] = a[value];
        right_registers[blockIdx.x][threadIdx.x][value] = b[value];
        results[blockIdx.x][threadIdx.x][value] = low[value];
        results[blockIdx.x][threadIdx.x][value + 4] = high[value];
    }
}
