// Probabilities and log-sum-exps of a few rows against a table, those first: one block, its result in
// memory of its own. An infinity is only near itself.
__device__ __forceinline__ bool near_value(float found, float wanted, float relative, float absolute) {
    const float error = found < wanted ? wanted - found : found - wanted;
    const float size = wanted < 0.0f ? -wanted : wanted;
    const bool near = size - size == 0.0f && error <= size * relative + absolute;
    const bool both = wanted != wanted && found != found;
    return near || both || wanted == found;
}

extern "C" __global__ void __launch_bounds__(threads) tylo_test_probabilities(unsigned* result) {
    const Arguments given = tested_arguments();
    softmax_kernel(given);
    __syncthreads();
    Report report = {};
#pragma unroll 1
    for (unsigned place = threadIdx.x; place < tested; place += threads) {
        const bool logarithm = place + 1u > tested_probabilities;
        const float found =
            logarithm ? found_logarithms[place - tested_probabilities] : found_probability(place);
        const float wanted = __uint_as_float(expected[place]);
        const bool near =
            logarithm ? near_value(found, wanted, logarithm_error(), logarithm_error())
                      : near_value(found, wanted, relative_error(), absolute_error());
        check(report, near, place, expected[place], __float_as_uint(found));
    }
    publish(report, result);
}
