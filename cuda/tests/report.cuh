// What one thread has checked, and the first check that it saw fail.
struct Report {
    unsigned made;
    unsigned failed;
    unsigned first;
    unsigned place;
    unsigned expected;
    unsigned actual;
};

__device__ __forceinline__ void check(
    Report& report, bool holds, unsigned place, unsigned expected, unsigned actual) {
    if (!holds) {
        if (report.failed == 0) {
            report.first = report.made;
            report.place = place;
            report.expected = expected;
            report.actual = actual;
        }
        ++report.failed;
    }
    ++report.made;
}

// Sums up the block: checks made, checks failed, and the failing check with the lowest number, with
// its thread, its place in the thread's registers, what was expected there and what was found.
__device__ __forceinline__ void publish(const Report& report, unsigned* result) {
    enum : unsigned { none = 0xffffffff };
    __shared__ unsigned made, failed, first;
    if (threadIdx.x == 0) {
        made = 0;
        failed = 0;
        first = none;
    }
    __syncthreads();
    const unsigned number = report.failed ? check_number(threadIdx.x, report.first) : none;
    atomicAdd(&made, report.made);
    atomicAdd(&failed, report.failed);
    atomicMin(&first, number);
    __syncthreads();
    if (threadIdx.x == 0) {
        result[0] = made;
        result[1] = failed;
        result[2] = first;
    }
    const bool passed = first == none;
    if (passed ? threadIdx.x == 0 : number == first) {
        result[3] = passed ? none : threadIdx.x;
        result[4] = report.place;
        result[5] = report.expected;
        result[6] = report.actual;
    }
}
