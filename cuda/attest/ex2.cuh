// Each thread puts `count` consecutive float32 patterns through ex2.approx.ftz.f32 and counts what is
// not as the numerics assume. Slots of its row: the checks in the order of
// tylo/codegen/attest/ex2.py, then the patterns tried, and the bits of the largest relative error.
__device__ __forceinline__ float approximate_ex2(unsigned pattern) {
    float result;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(__uint_as_float(pattern)));
    return result;
}

// 2 to the fraction of x by its Taylor series at 0 to the 14th term: the remainder for |f| <= 1/2 is
// below 2^-60. The whole part is taken off the result instead, which is exact.
__device__ __forceinline__ double relative_error(float x, float result) {
    const double whole = rint(static_cast<double>(x));
    const double power = (static_cast<double>(x) - whole) * 0x1.62e42fefa39efp-1;
    double exact = 1.0;
#pragma unroll
    for (int term = 14; term > 0; --term) {
        exact = 1.0 + exact * power / term;
    }
    const double scale =
        __longlong_as_double(static_cast<long long>(1023 - static_cast<int>(whole)) << 52);
    const double error = static_cast<double>(result) * scale / exact - 1.0;
    return error < 0.0 ? -error : error;
}

extern "C" __global__ void __launch_bounds__(threads)
tylo_attest_ex2(unsigned first, unsigned count, unsigned long long (*results)[10]) {
    const unsigned block = blockIdx.x, thread = threadIdx.x;
    const unsigned row = ROW;
    unsigned long long failures[8] = {};
    double largest = 0.0;
    for (unsigned step = 0; step < count; ++step) {
        const unsigned pattern = first + row * count + step;
        const unsigned size = pattern & 0x7fffffffu;
        const bool negative = pattern >> 31;
        const bool missing = size > 0x7f800000u;
        const float x = __uint_as_float(pattern);
        const float result = approximate_ex2(pattern);
        const unsigned bits = __float_as_uint(result);
        const bool lost = (bits & 0x7fffffffu) > 0x7f800000u;
        failures[0] += size == 0u && bits != 0x3f800000u;
        failures[1] += negative && !missing && size != 0u && !(result <= 1.0f);
        failures[2] += negative && !missing && bits >> 31 != 0u;
        // The next pattern is the next float32 away from zero.
        failures[3] += negative && size < 0x7f800000u && !(approximate_ex2(pattern + 1u) <= result);
        failures[4] += missing && !lost;
        failures[5] += !missing && lost;
        failures[6] += pattern == 0xff800000u && bits != 0u;
        failures[7] += pattern == 0x7f800000u && bits != 0x7f800000u;
        if ((negative || size == 0u) && x > -126.0f) {
            const double error = relative_error(x, result);
            largest = error > largest || error != error ? error : largest;
        }
    }
#pragma unroll
    for (int check = 0; check < 8; ++check) {
        results[row][check] = failures[check];
    }
    results[row][8] = count;
    results[row][9] = static_cast<unsigned long long>(__double_as_longlong(largest));
}
