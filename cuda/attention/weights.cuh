// The exponent of a score is unit * (score - maximum), in units of log2. One instruction gives
// score * unit - reference, where reference = maximum * unit is rounded: any finite reference gives
// the same quotients, if it is used throughout. Where rounding it could move weights by more than
// 2^-12, the difference is taken first.
enum : unsigned {
    exact_beyond = 4096u,
    largest_share = 4096u,
};

// A row that has kept no key so far has no maximum; its weights are then 2^(-inf) = 0.
__device__ __forceinline__ float finite_maximum(float maximum) {
    return maximum == -lane_infinity() ? 0.0f : maximum;
}

__device__ __forceinline__ bool is_wide(float reference) {
    return !(fabsf(reference) <= float(exact_beyond));
}

// 2^(unit * (from - to)): what numerators and sums under maximum `from` are worth under `to`.
__device__ __forceinline__ float rescaling(float unit, float from, float to) {
    const float target = finite_maximum(to), reference = target * unit;
    const float apart = (from - target) * unit, fused = from * unit - reference;
    return lane_ex2(is_wide(reference) ? apart : fused);
}

// The state of a thread's rows. `unsettled` is one for the warp: some row has no finite reference that
// the one-instruction exponent may use, so that the next tile must not go without its maximum.
template <int rows>
struct State {
    float maximum[rows], sum[rows], reference[rows], rescale[rows];
    bool moved, unsettled;
};

template <int rows>
__device__ __forceinline__ void reset(State<rows>& state) {
#pragma unroll
    for (int r = 0; r < rows; ++r) {
        state.maximum[r] = -lane_infinity();
        state.sum[r] = 0.0f;
        state.reference[r] = 0.0f;
        state.rescale[r] = 1.0f;
    }
    state.moved = false;
    state.unsettled = true;
}

// A tile of scores becomes weights; rows whose scores exceed their maximum by more than `lag` take a
// new one, and `rescale` is what came before them is worth then.
template <int count, int rows>
__device__ __forceinline__ void weigh(
    float unit, float lag, float (&scores)[count], State<rows>& state) {
    float highest[rows];
    row_maximum(scores, highest);
    bool follow[rows], moved = false;
#pragma unroll
    for (int r = 0; r < rows; ++r) {
        // A NaN moves the maximum, so that it is not lost.
        follow[r] = !(highest[r] <= state.maximum[r] + lag);
        moved = moved || follow[r];
    }
    state.moved = __any_sync(0xffffffffu, moved);
    if (state.moved) {
#pragma unroll
        for (int r = 0; r < rows; ++r) {
            state.rescale[r] = follow[r] ? rescaling(unit, state.maximum[r], highest[r]) : 1.0f;
            state.maximum[r] = follow[r] ? highest[r] : state.maximum[r];
            state.reference[r] = finite_maximum(state.maximum[r]) * unit;
            state.sum[r] *= state.rescale[r];
        }
    }
    if (state.moved || state.unsettled) {
        bool unsettled = false;
#pragma unroll
        for (int r = 0; r < rows; ++r)
            unsettled = unsettled || is_wide(state.reference[r]) || state.maximum[r] == -lane_infinity();
        state.unsettled = __any_sync(0xffffffffu, unsettled);
    }
    float units[rows], reference[rows];
#pragma unroll
    for (int r = 0; r < rows; ++r) {
        units[r] = unit;
        reference[r] = state.reference[r];
    }
    if (state.unsettled) {
        float origin[rows];
#pragma unroll
        for (int r = 0; r < rows; ++r) {
            const bool apart = is_wide(reference[r]);
            origin[r] = apart ? finite_maximum(state.maximum[r]) : 0.0f;
            units[r] = apart ? 1.0f : unit;
            reference[r] = apart ? 0.0f : reference[r];
        }
        subtract_wide(origin, units, unit, scores);
    }
    exponentials(units, reference, scores, state.sum);
}

// The same under the references that are there, without looking for a maximum. True if no weight of
// the warp exceeds 2^12; otherwise (also for infinities and NaN) nothing is added to the sums, and
// the scores must be computed again.
template <int count, int rows>
__device__ __forceinline__ bool weigh_under(
    float unit, float (&scores)[count], State<rows>& state) {
    float units[rows], share[rows];
#pragma unroll
    for (int r = 0; r < rows; ++r) {
        units[r] = unit;
        share[r] = 0.0f;
    }
    exponentials(units, state.reference, scores, share);
    bool outgrown = false;
#pragma unroll
    for (int r = 0; r < rows; ++r) outgrown = outgrown || !(share[r] <= float(largest_share));
    if (__any_sync(0xffffffffu, outgrown)) return false;
#pragma unroll
    for (int r = 0; r < rows; ++r) state.sum[r] += share[r];
    state.moved = false;
    return true;
}

__device__ __forceinline__ float log_sum_exp(float unit, float scale, float maximum, float sum) {
    constexpr float natural = 0.693147180559945f;
    const float reference = finite_maximum(maximum) * unit;
    const float fused = (reference + lane_lg2(sum)) * natural;
    const float apart = __fmaf_rn(maximum, scale, lane_lg2(sum) * natural);
    return sum == 0.0f ? -lane_infinity() : (is_wide(reference) ? apart : fused);
}
