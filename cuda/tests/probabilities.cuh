// Probabilities, or log-sum-exp, of a few rows against a table: one block, its result in memory of its own.
extern "C" __global__ void __launch_bounds__(threads) tylo_test_probabilities(unsigned* result) {
    const Arguments given = tested_arguments();
    softmax_kernel(given);
    __syncthreads();
    Report report = {};
#pragma unroll 1
    for (unsigned place = threadIdx.x; place < tested; place += threads) {
        const float found = found_value(place);
        const float wanted = __uint_as_float(expected[place]);
        const float error = found < wanted ? wanted - found : found - wanted;
        const float size = wanted < 0.0f ? -wanted : wanted;
        const bool near = error <= size * relative_error() + absolute_error();
        const bool both = wanted != wanted && found != found;
        check(report, near || both || wanted == found, place, expected[place], __float_as_uint(found));
    }
    publish(report, result);
}
