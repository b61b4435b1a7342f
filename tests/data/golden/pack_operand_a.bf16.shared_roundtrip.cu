// tylo_pack_operand_a: mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32
// One block: a row-major tile of 16 x 16, 1 M repeat(s) of 1 column pair(s) on 1 M warp(s).
// Printed from proven ownerships; the certificate in this bundle says what is proven.
enum : unsigned {
    threads = 32,
    repeats_m = 1,
    pairs = 1,
    accumulator_registers = 8,
    word_registers = 4,
};
enum : unsigned long long {
    tile_elements = 256,
    tile_words = 128,
};

// Rounds two floats to BF16, to nearest even, and packs them: `low` in bits 0-15, `high` in 16-31.
// PTX ISA, "Data Movement and Conversion Instructions: cvt": d = {a, b} packs a in the upper half.
__device__ __forceinline__ unsigned convert_x2(float low, float high) {
    unsigned word;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(word) : "f"(high), "f"(low));
    return word;
}

// Two adjacent 16x8 accumulator atoms become one 16x16 A operand, in the same lane.
__device__ __forceinline__ void pack_operand_a(
    const float (&left)[4], const float (&right)[4], unsigned (&words)[4]) {
    words[0] = convert_x2(left[0], left[1]);
    words[1] = convert_x2(left[2], left[3]);
    words[2] = convert_x2(right[0], right[1]);
    words[3] = convert_x2(right[2], right[3]);
}

// The same for M repeat m and 16-column pair k of a tiled accumulator.
__device__ __forceinline__ void pack_operand_a(
    const float (&accumulator)[8], unsigned m, unsigned k, unsigned (&words)[4]) {
    words[4u * (m + k)] = convert_x2(
        accumulator[4u * (m + 2u * k)],
        accumulator[1u + 4u * (m + 2u * k)]);
    words[1u + 4u * (m + k)] = convert_x2(
        accumulator[2u + 4u * (m + 2u * k)],
        accumulator[3u + 4u * (m + 2u * k)]);
    words[2u + 4u * (m + k)] = convert_x2(
        accumulator[4u * (m + (2u * k + 1u))],
        accumulator[1u + 4u * (m + (2u * k + 1u))]);
    words[3u + 4u * (m + k)] = convert_x2(
        accumulator[2u + 4u * (m + (2u * k + 1u))],
        accumulator[3u + 4u * (m + (2u * k + 1u))]);
}

enum : unsigned {
    staged_words = 128,
    infinity = 32640,
};

__device__ const unsigned source[256] = {
    0x3949479a, 0xc272556d, 0xc132578a, 0x7fffff, 0xbac79141, 0x1f04e334, 0x3f800001, 0xbacc893a,
    0x7fffffff, 0x8001, 0xbf817fff, 0x25d3a06b, 0x3cfb4ecc, 0x3fe87bba, 0x93902957, 0x80027fff,
    0xb990100d, 0x3f80ffff, 0xc9ad15ee, 0xffff, 0xc2de94e1, 0x7f7fffff, 0x156fb9b8, 0xc3a681b7,
    0x7f7f8001, 0xbb24b977, 0x18001, 0xc4e05b53, 0x43095068, 0x39412d6b, 0x3821d195, 0x422329f6,
    0x807f8000, 0x386556d9, 0x3f817fff, 0x5afcde74, 0x1cff398e, 0x948df90b, 0xbd525165, 0x715c1bcc,
    0x3c361406, 0x738b76b9, 0xffbfffff, 0x46830af6, 0x4626d76a, 0xbb3850b1, 0x80800000, 0x384a7cfa,
    0x3f818001, 0x800000, 0xff7f0000, 0x4cb0431a, 0x800001, 0x3cb50dde, 0x3f808000, 0x807fffff,
    0xbb861648, 0x3f800000, 0x7fc00000, 0xff7f7fff, 0x3b277cef, 0xc01f135d, 0x3f818000, 0x7f7fff,
    0xbf80ffff, 0x80018000, 0xbf808001, 0x3854bb74, 0xbfbde654, 0x7f7f8000, 0x3a423c9b, 0x5e931f13,
    0xff7fffff, 0x3f810001, 0xbc2b987b, 0x80000000, 0x8000ffff, 0x3cf45523, 0x45078d29, 0x7f7f0001,
    0xbf42733c, 0x8e54714c, 0xc6d88312, 0x80007fff, 0x46ab6c47, 0x807f7fff, 0x44d06684, 0xc1eea732,
    0xb967264f, 0x55ded060, 0x80000001, 0xc5131e96, 0x61756954, 0xc29f79e9, 0xff800000, 0xbf807fff,
    0x383334e5, 0x3ff83d8c, 0x41c69607, 0x3db03434, 0xc0c89591, 0x167601bd, 0xc585c1a1, 0x80ffff,
    0x8c265310, 0xc170fcae, 0xbf75c116, 0xffc12345, 0x3f810000, 0x43b4cc8b, 0x3c7492b6, 0x2f1ce9fa,
    0x18000, 0x3fb1a89e, 0x3a6a5e1d, 0x3ce7954c, 0xf9c6c326, 0x4632fb4d, 0xbb4a21b8, 0xbf800000,
    0x3ef693fe, 0x27fff, 0xff7f8001, 0x10001, 0x1725c4b6, 0xc0034e28, 0xba83db1c, 0x808001,
    0x80008000, 0x808000, 0xc9f80f2e, 0x7fc12345, 0xffffffff, 0x7f800000, 0x436133a5, 0x382c0268,
    0xff7f8000, 0x4485c0c9, 0x28000, 0xbd44b2ff, 0xbd100cae, 0x80800000, 0x6909e62, 0xc6db39b2,
    0x7f8001, 0xff7fffff, 0x3e0859de, 0x1ca3d486, 0x0, 0x200c63d8, 0x39c396fc, 0x3abc3c47,
    0x41c8f22d, 0x4422126a, 0x9a7e74c3, 0xb9c0542c, 0x28001, 0xbedf4c03, 0x3a39c2b3, 0xc1774a5a,
    0x80018001, 0xbf818001, 0xbf810000, 0x38124e5e, 0x453be42e, 0x3f807fff, 0x80028001, 0xffc00000,
    0x253c6f04, 0x55eea057, 0xbf81ffff, 0xbf818000, 0xb37e645e, 0xc5619131, 0x6e852518, 0xbf7d20cb,
    0x3fdc5010, 0x80808000, 0x7fbfffff, 0xe470ad09, 0x3bee2156, 0xf201c39, 0x80028000, 0xbf810001,
    0x7f7f0000, 0xc2bac1ad, 0xbf808000, 0x3f81ffff, 0xc72ef0fe, 0xbf800001, 0x410c3094, 0xc185dd88,
    0x1, 0x4185c7d2, 0x7f7f7fff, 0x80000002, 0xb7d3a016, 0x7fff, 0xd427526a, 0xc78424bc,
    0xc7099f89, 0xb7e2766c, 0x8000, 0xbe2d2d16, 0x210f31b1, 0xb8bc41ea, 0x47d534ba, 0xc5809391,
    0xc3ead1e2, 0x807fff, 0x8fff633b, 0x80800001, 0x80010000, 0x404316ec, 0x418937e3, 0x7f8000,
    0xbc5de525, 0x8080ffff, 0xbc81959f, 0xbe887bd5, 0x9e91c0d1, 0xc614aa3f, 0x3f302fe6, 0x460bf8ab,
    0xbf3368ee, 0x7f7fffff, 0x97a2a95d, 0x39ab7904, 0xc30ddac6, 0x43a112a3, 0x17fff, 0xff7f0001,
    0xff800001, 0x45b81dfb, 0x800000, 0x2, 0x7f800001, 0x3f808001, 0x3ab5e593, 0xc10af187,
    0x39f510c3, 0x10000, 0x80808001, 0x80010001, 0xb2a61ac, 0x80807fff, 0x15bf14fc, 0xb7d62b16,
    0xc7ac640e, 0xc74acaf4, 0xc4fbc037, 0xc5ff384d, 0x475e4d7e, 0x80017fff, 0x80008001, 0x807f8001};

__device__ const unsigned rounded[128] = {
    0xc2723949, 0x80c132, 0x1f05bac8, 0xbacd3f80, 0x17fff, 0x25d4bf81, 0x3fe83cfb, 0x80029390,
    0x3f81b990, 0x1c9ad, 0x7f80c2df, 0xc3a71570, 0xbb257f80, 0xc4e00002, 0x39414309, 0x42233822,
    0x38658080, 0x5afd3f81, 0x948e1cff, 0x715cbd52, 0x738b3c36, 0x4683ffff, 0xbb384627, 0x384a8080,
    0x803f82, 0x4cb0ff7f, 0x3cb50080, 0x80803f80, 0x3f80bb86, 0xff7f7fff, 0xc01f3b27, 0x7f3f82,
    0x8002bf81, 0x3855bf81, 0x7f80bfbe, 0x5e933a42, 0x3f81ff80, 0x8000bc2c, 0x3cf48001, 0x7f7f4508,
    0x8e54bf42, 0x8000c6d9, 0x807f46ab, 0xc1ef44d0, 0x55dfb967, 0xc5138000, 0xc29f6175, 0xbf80ff80,
    0x3ff83833, 0x3db041c7, 0x1676c0c9, 0x81c586, 0xc1718c26, 0xffffbf76, 0x43b53f81, 0x2f1d3c75,
    0x3fb20002, 0x3ce83a6a, 0x4633f9c7, 0xbf80bb4a, 0x23ef7, 0x1ff80, 0xc0031726, 0x81ba84,
    0x808000, 0x7fffc9f8, 0x7f80ffff, 0x382c4361, 0x4486ff80, 0xbd450002, 0x8080bd10, 0xc6db0691,
    0xff800080, 0x1ca43e08, 0x200c0000, 0x3abc39c4, 0x442241c9, 0xb9c09a7e, 0xbedf0003, 0xc1773a3a,
    0xbf828002, 0x3812bf81, 0x3f80453c, 0xffff8003, 0x55ef253c, 0xbf82bf82, 0xc562b37e, 0xbf7d6e85,
    0x80803fdc, 0xe4717fff, 0xf203bee, 0xbf818002, 0xc2bb7f7f, 0x3f82bf80, 0xbf80c72f, 0xc186410c,
    0x41860000, 0x80007f7f, 0xb7d4, 0xc784d427, 0xb7e2c70a, 0xbe2d0000, 0xb8bc210f, 0xc58147d5,
    0x80c3eb, 0x80808fff, 0x40438001, 0x804189, 0x8081bc5e, 0xbe88bc82, 0xc6159e92, 0x460c3f30,
    0x7f80bf33, 0x39ab97a3, 0x43a1c30e, 0xff7f0001, 0x45b8ffff, 0x80, 0x3f817fff, 0xc10b3ab6,
    0x139f5, 0x80018081, 0x80800b2a, 0xb7d615bf, 0xc74bc7ac, 0xc5ffc4fc, 0x8001475e, 0x80808001};

// Loads four 8x8 matrices of 16-bit elements from shared memory, one to a register. Each lane hands
// in the address of one row: lanes 0-7 those of matrix 0, lanes 8-15 those of matrix 1, and so on.
// PTX ISA, "Warp-level matrix load instruction: ldmatrix".
__device__ __forceinline__ void load_matrices(const unsigned* row, unsigned (&words)[4]) {
    const unsigned address = static_cast<unsigned>(__cvta_generic_to_shared(row));
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(words[0]), "=r"(words[1]), "=r"(words[2]), "=r"(words[3])
                 : "r"(address)
                 : "memory");
}

// Loads what a thread owns of a row-major accumulator tile.
__device__ __forceinline__ void load_accumulator(
    const float* tile, unsigned thread, float (&held)[8]) {
    const unsigned lane = thread & 31u;
    held[0] = tile[(lane >> 2) * 16u + (lane & 3u) * 2u];
    held[1] = tile[(lane >> 2) * 16u + (1u + (lane & 3u) * 2u)];
    held[2] = tile[(8u + (lane >> 2)) * 16u + (lane & 3u) * 2u];
    held[3] = tile[(8u + (lane >> 2)) * 16u + (1u + (lane & 3u) * 2u)];
    held[4] = tile[(lane >> 2) * 16u + (8u + (lane & 3u) * 2u)];
    held[5] = tile[(lane >> 2) * 16u + (9u + (lane & 3u) * 2u)];
    held[6] = tile[(8u + (lane >> 2)) * 16u + (8u + (lane & 3u) * 2u)];
    held[7] = tile[(8u + (lane >> 2)) * 16u + (9u + (lane & 3u) * 2u)];
}

// Where the row of the staged operand A begins that a thread hands to ldmatrix, in words.
__device__ __forceinline__ unsigned staged_a(unsigned thread) {
    const unsigned lane = thread & 31u;
    const unsigned warp = thread >> 5;
    return (warp * 256u + (((2u * (lane >> 3) >> 1) & 1u) * 8u + (4u * (lane & 7u) >> 2)) * 16u + ((2u * (lane >> 3) & 1u) + (2u * (lane >> 3) >> 2) * 8u + (4u * (lane & 7u) & 3u) * 2u)) >> 1;
}

// Where the row of the operand tile begins that a thread hands to ldmatrix, in words.
__device__ __forceinline__ unsigned operand_row(unsigned thread, unsigned m, unsigned k) {
    const unsigned lane = thread & 31u;
    return ((((2u * (lane >> 3) >> 1) & 1u) * 8u + (4u * (lane & 7u) >> 2)) * 16u + ((2u * (lane >> 3) & 1u) + (2u * (lane >> 3) >> 2) * 8u + (4u * (lane & 7u) & 3u) * 2u)) >> 1;
}

// Takes two adjacent atoms from the registers of the tiled accumulator.
__device__ __forceinline__ void take_pair(
    const float (&held)[8], unsigned m, unsigned k, float (&left)[4], float (&right)[4]) {
    left[0] = held[4u * (m + 2u * k)];
    left[1] = held[1u + 4u * (m + 2u * k)];
    left[2] = held[2u + 4u * (m + 2u * k)];
    left[3] = held[3u + 4u * (m + 2u * k)];
    right[0] = held[4u * (m + (2u * k + 1u))];
    right[1] = held[1u + 4u * (m + (2u * k + 1u))];
    right[2] = held[2u + 4u * (m + (2u * k + 1u))];
    right[3] = held[3u + 4u * (m + (2u * k + 1u))];
}

// The register of a word of operand (m, k).
__device__ __forceinline__ unsigned word_number(unsigned word, unsigned m, unsigned k) {
    return word + 4u * (m + k);
}

// The number of a half of a word of operand (m, k) among a thread's halves.
__device__ __forceinline__ unsigned half_number(
    unsigned word, unsigned half, unsigned m, unsigned k) {
    return 2u * (word + 4u * (m + k)) + half;
}

// The number of a thread's check among those of the block.
__device__ __forceinline__ unsigned check_number(unsigned thread, unsigned sequence) {
    return sequence * 32u + thread;
}

// Copies eight neighbouring 16-bit elements, the row of a matrix that one lane hands to ldmatrix.
__device__ __forceinline__ void copy_row(const unsigned* from, unsigned* to) {
#pragma unroll
    for (unsigned word = 0; word < 4; ++word) {
        to[word] = from[word];
    }
}

__device__ __forceinline__ unsigned half_of(unsigned word, unsigned half) {
    return half == 0 ? word & 0xffff : word >> 16;
}

// The same bits, or NaN and NaN.
__device__ __forceinline__ bool same_half(unsigned expected, unsigned actual) {
    const bool both_nan = (expected & 0x7fff) > infinity && (actual & 0x7fff) > infinity;
    return expected == actual || both_nan;
}

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

// Packed words must be what ldmatrix makes of a 16-bit matrix that was stored row by row.
//
// The matrix holds the source rounded by the oracle. It passes through shared memory, a 16x16
// operand of every warp at a time, and comes back in the lanes and registers of operand A.
extern "C" __global__ void __launch_bounds__(threads)
tylo_test_shared_roundtrip(unsigned* result) {
    __shared__ __align__(16) unsigned staged[staged_words];
    Report report = {};
    float held[accumulator_registers];
    load_accumulator(reinterpret_cast<const float*>(source), threadIdx.x, held);
    unsigned packed[word_registers] = {};
#pragma unroll
    for (unsigned k = 0; k < pairs; ++k) {
#pragma unroll
        for (unsigned m = 0; m < repeats_m; ++m) {
            pack_operand_a(held, m, k, packed);
        }
    }
#pragma unroll
    for (unsigned k = 0; k < pairs; ++k) {
#pragma unroll
        for (unsigned m = 0; m < repeats_m; ++m) {
            __syncthreads();
            copy_row(
                rounded + operand_row(threadIdx.x, m, k), staged + staged_a(threadIdx.x));
            __syncthreads();
            unsigned loaded[4];
            load_matrices(staged + staged_a(threadIdx.x), loaded);
            float left[4], right[4];
            take_pair(held, m, k, left, right);
            unsigned pair[4] = {};
            pack_operand_a(left, right, pair);
#pragma unroll
            for (unsigned word = 0; word < 4; ++word) {
#pragma unroll
                for (unsigned half = 0; half < 2; ++half) {
                    const unsigned place = half_number(word, half, m, k);
                    const unsigned expected = half_of(loaded[word], half);
                    const unsigned tiled = half_of(packed[word_number(word, m, k)], half);
                    check(report, same_half(expected, tiled), place, expected, tiled);
                    const unsigned alone = half_of(pair[word], half);
                    check(report, same_half(expected, alone), place, expected, alone);
                }
            }
        }
    }
    publish(report, result);
}
