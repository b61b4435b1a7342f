// Copies rows of 64 floats and exchanges the two halves of each row, two neighbours a thread at once.
// nvcc -ptx -arch=sm_90 swap_halves.cu -o swap_halves.ptx
// nvcc -ptx -arch=sm_90 -DWRONG swap_halves.cu -o swap_halves_wrong.ptx
#ifdef WRONG
#define HALF 15  // each thread writes where its neighbour should
#else
#define HALF 16
#endif

extern "C" __global__ void __launch_bounds__(32) swap_halves(
    const float* __restrict__ x, float* __restrict__ y) {
    const float2* from = reinterpret_cast<const float2*>(x) + blockIdx.x * 32ull;
    float2* to = reinterpret_cast<float2*>(y) + blockIdx.x * 32ull;
    to[(threadIdx.x + HALF) % 32] = from[threadIdx.x];
}
