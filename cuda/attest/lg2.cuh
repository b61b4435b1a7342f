// Each thread puts `count` consecutive float32 patterns through lg2.approx.ftz.f32 and counts what is
// not as the numerics assume. Slots of its row: the checks in the order of
// tylo/codegen/attest/lg2.py, then the patterns tried, and the bits of the largest absolute error
// between a half and two and of the largest relative error elsewhere.
__device__ __forceinline__ float approximate_lg2(unsigned pattern) {
    float result;
    asm("lg2.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(__uint_as_float(pattern)));
    return result;
}

// With x = m * 2^e and sqrt(1/2) < m < sqrt(2), e + 2 / ln 2 * atanh((m - 1) / (m + 1)). The series is
// taken to its 13th term, after which less than 2^-68 of the whole remains; m - 1 is exact, so that
// the relative error stays that of a few roundings next to one.
__device__ __forceinline__ double exact_lg2(unsigned pattern) {
    const bool upper = (pattern & 0x007fffffu) > 0x003504f3u;
    const int whole = static_cast<int>(pattern >> 23) - (upper ? 126 : 127);
    const double m =
        __uint_as_float((pattern & 0x007fffffu) | (upper ? 0x3f000000u : 0x3f800000u));
    const double ratio = (m - 1.0) / (m + 1.0);
    const double square = ratio * ratio;
    double series = 0.0;
#pragma unroll
    for (int term = 12; term >= 0; --term) {
        series = series * square + 1.0 / (2 * term + 1);
    }
    return whole + 0x1.71547652b82fep+1 * (ratio * series);
}

extern "C" __global__ void __launch_bounds__(threads)
tylo_attest_lg2(unsigned first, unsigned count, unsigned long long (*results)[11]) {
    const unsigned block = blockIdx.x, thread = threadIdx.x;
    const unsigned row = ROW;
    unsigned long long failures[8] = {};
    double absolute = 0.0, relative = 0.0;
    for (unsigned step = 0; step < count; ++step) {
        const unsigned pattern = first + row * count + step;
        const unsigned size = pattern & 0x7fffffffu;
        const bool negative = pattern >> 31;
        const bool missing = size > 0x7f800000u;
        const bool vanishing = size < 0x00800000u;
        const bool normal = !negative && !vanishing && size < 0x7f800000u;
        const float x = __uint_as_float(pattern);
        const float result = approximate_lg2(pattern);
        const unsigned bits = __float_as_uint(result);
        const bool lost = (bits & 0x7fffffffu) > 0x7f800000u;
        failures[0] += pattern == 0x3f800000u && (bits & 0x7fffffffu) != 0u;
        failures[1] += x > 1.0f && !(result >= 0.0f);
        failures[2] += !negative && x < 1.0f && !(result <= 0.0f);
        failures[3] += normal && (bits & 0x7fffffffu) >= 0x7f800000u;
        failures[4] += vanishing && bits != 0xff800000u;
        failures[5] += pattern == 0x7f800000u && bits != 0x7f800000u;
        failures[6] += negative && !vanishing && !missing && !lost;
        failures[7] += missing && !lost;
        if (normal) {
            const double exact = exact_lg2(pattern);
            const double off = static_cast<double>(result) - exact;
            const double size_of_exact = exact < 0.0 ? -exact : exact;
            const double error = off < 0.0 ? -off : off;
            if (x > 0.5f && x < 2.0f) {
                absolute = error > absolute || error != error ? error : absolute;
            } else {
                const double part = error / size_of_exact;
                relative = part > relative || part != part ? part : relative;
            }
        }
    }
#pragma unroll
    for (int check = 0; check < 8; ++check) {
        results[row][check] = failures[check];
    }
    results[row][8] = count;
    results[row][9] = static_cast<unsigned long long>(__double_as_longlong(absolute));
    results[row][10] = static_cast<unsigned long long>(__double_as_longlong(relative));
}
