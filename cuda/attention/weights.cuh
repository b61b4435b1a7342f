// The exponent of a score is unit * (score - maximum), in units of log2. One instruction gives
// score * unit - reference, where reference = maximum * unit is rounded: any finite reference gives
// the same quotients, if it is used throughout. Where rounding it could move weights by more than
// 2^-12, the difference is taken first.
enum : unsigned {
    exact_beyond = 4096u,
};

// A row that has kept no key so far has no maximum; its weights are then 2^(-inf) = 0.
__device__ __forceinline__ float finite_maximum(float maximum) {
    return maximum == -infinity() ? 0.0f : maximum;
}

__device__ __forceinline__ bool is_wide(float reference) {
    return !(fabsf(reference) <= float(exact_beyond));
}

// 2^(unit * (from - to)): what numerators and sums under maximum `from` are worth under `to`.
__device__ __forceinline__ float rescaling(float unit, float from, float to) {
    const float target = finite_maximum(to), reference = target * unit;
    const float apart = (from - target) * unit, fused = from * unit - reference;
    return power_of_two(is_wide(reference) ? apart : fused);
}

template <int rows>
__device__ __forceinline__ void follow_maximum(
    float unit, const float (&highest)[rows], const bool (&follow)[rows], float (&maximum)[rows],
    float (&sum)[rows], float (&rescale)[rows]) {
#pragma unroll
    for (int r = 0; r < rows; ++r) {
        rescale[r] = follow[r] ? rescaling(unit, maximum[r], highest[r]) : 1.0f;
        maximum[r] = follow[r] ? highest[r] : maximum[r];
        sum[r] *= rescale[r];
    }
}

// Scores become weights, and each row's share of them is added to its sum.
template <int count, int rows>
__device__ __forceinline__ void weigh(
    float unit, const float (&maximum)[rows], float (&scores)[count], float (&sum)[rows]) {
    float reference[rows], units[rows];
    bool wide = false;
#pragma unroll
    for (int r = 0; r < rows; ++r) {
        units[r] = unit;
        reference[r] = finite_maximum(maximum[r]) * unit;
        wide = wide || is_wide(reference[r]);
    }
    if (__any_sync(0xffffffffu, wide)) {
        float origin[rows];
#pragma unroll
        for (int r = 0; r < rows; ++r) {
            const bool apart = is_wide(reference[r]);
            origin[r] = apart ? finite_maximum(maximum[r]) : 0.0f;
            units[r] = apart ? 1.0f : unit;
            reference[r] = apart ? 0.0f : reference[r];
        }
        subtract_wide(origin, units, unit, scores);
    }
    exponentials(units, reference, scores, sum);
}

__device__ __forceinline__ float log_sum_exp(float unit, float scale, float maximum, float sum) {
    constexpr float natural = 0.693147180559945f;
    const float reference = finite_maximum(maximum) * unit;
    const float fused = (reference + logarithm_of_two(sum)) * natural;
    const float apart = __fmaf_rn(maximum, scale, logarithm_of_two(sum) * natural);
    return sum == 0.0f ? -infinity() : (is_wide(reference) ? apart : fused);
}
