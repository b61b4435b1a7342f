// Copies eight neighbouring 16-bit elements, the row of a matrix that one lane hands to ldmatrix.
__device__ __forceinline__ void copy_row(const unsigned* from, unsigned* to) {
#pragma unroll
    for (unsigned word = 0; word < 4; ++word) {
        to[word] = from[word];
    }
}
