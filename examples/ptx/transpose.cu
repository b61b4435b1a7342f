// The transpose of a row-major matrix, in blocks of dim3(32, 8): reads and writes are coalesced by
// way of a tile in shared memory, whose rows are padded so that its columns lie in 32 banks.
extern "C" __global__ void __launch_bounds__(256) transpose(
    const float* __restrict__ x, float* __restrict__ y, int rows, int columns, int ldx, int ldy) {
    __shared__ float tile[32][33];
    int c = blockIdx.x * 32 + threadIdx.x;
    int r = blockIdx.y * 32 + threadIdx.y;
    for (int j = 0; j < 32; j += 8)
        if (r + j < rows && c < columns) tile[threadIdx.y + j][threadIdx.x] = x[(r + j) * ldx + c];
    __syncthreads();
    c = blockIdx.y * 32 + threadIdx.x;
    r = blockIdx.x * 32 + threadIdx.y;
    for (int j = 0; j < 32; j += 8)
        if (r + j < columns && c < rows) y[(r + j) * ldy + c] = tile[threadIdx.x][threadIdx.y + j];
}
