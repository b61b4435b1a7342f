// The transpose of a row-major matrix, an element a thread, in blocks of dim3(32, 8).
extern "C" __global__ void transpose_naive(
    const float* __restrict__ x, float* __restrict__ y, int rows, int columns) {
    int c = blockIdx.x * blockDim.x + threadIdx.x;
    int r = blockIdx.y * blockDim.y + threadIdx.y;
    if (r < rows && c < columns) y[c * rows + r] = x[r * columns + c];
}
