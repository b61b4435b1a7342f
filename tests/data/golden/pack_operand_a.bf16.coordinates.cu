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
    planes = 2,
    largest_digit = 127,
    staged_words = 128,
    infinity = 32640,
};

__device__ const unsigned left_factors[2][128] = {
    0x3f80, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0,
    0x40000000, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0,
    0x0, 0x4040, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0,
    0x0, 0x40800000, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0,
    0x0, 0x0, 0x40a0, 0x0, 0x0, 0x0, 0x0, 0x0,
    0x0, 0x0, 0x40c00000, 0x0, 0x0, 0x0, 0x0, 0x0,
    0x0, 0x0, 0x0, 0x40e0, 0x0, 0x0, 0x0, 0x0,
    0x0, 0x0, 0x0, 0x41000000, 0x0, 0x0, 0x0, 0x0,
    0x0, 0x0, 0x0, 0x0, 0x4110, 0x0, 0x0, 0x0,
    0x0, 0x0, 0x0, 0x0, 0x41200000, 0x0, 0x0, 0x0,
    0x0, 0x0, 0x0, 0x0, 0x0, 0x4130, 0x0, 0x0,
    0x0, 0x0, 0x0, 0x0, 0x0, 0x41400000, 0x0, 0x0,
    0x0, 0x0, 0x0, 0x0, 0x0, 0x0, 0x4150, 0x0,
    0x0, 0x0, 0x0, 0x0, 0x0, 0x0, 0x41600000, 0x0,
    0x0, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0, 0x4170,
    0x0, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0, 0x41800000,
    0x3f80, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0,
    0x3f800000, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0,
    0x0, 0x3f80, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0,
    0x0, 0x3f800000, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0,
    0x0, 0x0, 0x3f80, 0x0, 0x0, 0x0, 0x0, 0x0,
    0x0, 0x0, 0x3f800000, 0x0, 0x0, 0x0, 0x0, 0x0,
    0x0, 0x0, 0x0, 0x3f80, 0x0, 0x0, 0x0, 0x0,
    0x0, 0x0, 0x0, 0x3f800000, 0x0, 0x0, 0x0, 0x0,
    0x0, 0x0, 0x0, 0x0, 0x3f80, 0x0, 0x0, 0x0,
    0x0, 0x0, 0x0, 0x0, 0x3f800000, 0x0, 0x0, 0x0,
    0x0, 0x0, 0x0, 0x0, 0x0, 0x3f80, 0x0, 0x0,
    0x0, 0x0, 0x0, 0x0, 0x0, 0x3f800000, 0x0, 0x0,
    0x0, 0x0, 0x0, 0x0, 0x0, 0x0, 0x3f80, 0x0,
    0x0, 0x0, 0x0, 0x0, 0x0, 0x0, 0x3f800000, 0x0,
    0x0, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0, 0x3f80,
    0x0, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0, 0x3f800000};

__device__ const unsigned right_factors[2][128] = {
    0x3f803f80, 0x3f803f80, 0x3f803f80, 0x3f803f80, 0x3f803f80, 0x3f803f80, 0x3f803f80, 0x3f803f80,
    0x3f803f80, 0x3f803f80, 0x3f803f80, 0x3f803f80, 0x3f803f80, 0x3f803f80, 0x3f803f80, 0x3f803f80,
    0x3f803f80, 0x3f803f80, 0x3f803f80, 0x3f803f80, 0x3f803f80, 0x3f803f80, 0x3f803f80, 0x3f803f80,
    0x3f803f80, 0x3f803f80, 0x3f803f80, 0x3f803f80, 0x3f803f80, 0x3f803f80, 0x3f803f80, 0x3f803f80,
    0x3f803f80, 0x3f803f80, 0x3f803f80, 0x3f803f80, 0x3f803f80, 0x3f803f80, 0x3f803f80, 0x3f803f80,
    0x3f803f80, 0x3f803f80, 0x3f803f80, 0x3f803f80, 0x3f803f80, 0x3f803f80, 0x3f803f80, 0x3f803f80,
    0x3f803f80, 0x3f803f80, 0x3f803f80, 0x3f803f80, 0x3f803f80, 0x3f803f80, 0x3f803f80, 0x3f803f80,
    0x3f803f80, 0x3f803f80, 0x3f803f80, 0x3f803f80, 0x3f803f80, 0x3f803f80, 0x3f803f80, 0x3f803f80,
    0x3f803f80, 0x3f803f80, 0x3f803f80, 0x3f803f80, 0x3f803f80, 0x3f803f80, 0x3f803f80, 0x3f803f80,
    0x3f803f80, 0x3f803f80, 0x3f803f80, 0x3f803f80, 0x3f803f80, 0x3f803f80, 0x3f803f80, 0x3f803f80,
    0x3f803f80, 0x3f803f80, 0x3f803f80, 0x3f803f80, 0x3f803f80, 0x3f803f80, 0x3f803f80, 0x3f803f80,
    0x3f803f80, 0x3f803f80, 0x3f803f80, 0x3f803f80, 0x3f803f80, 0x3f803f80, 0x3f803f80, 0x3f803f80,
    0x3f803f80, 0x3f803f80, 0x3f803f80, 0x3f803f80, 0x3f803f80, 0x3f803f80, 0x3f803f80, 0x3f803f80,
    0x3f803f80, 0x3f803f80, 0x3f803f80, 0x3f803f80, 0x3f803f80, 0x3f803f80, 0x3f803f80, 0x3f803f80,
    0x3f803f80, 0x3f803f80, 0x3f803f80, 0x3f803f80, 0x3f803f80, 0x3f803f80, 0x3f803f80, 0x3f803f80,
    0x3f803f80, 0x3f803f80, 0x3f803f80, 0x3f803f80, 0x3f803f80, 0x3f803f80, 0x3f803f80, 0x3f803f80,
    0x3f803f80, 0x3f803f80, 0x3f803f80, 0x3f803f80, 0x3f803f80, 0x3f803f80, 0x3f803f80, 0x3f803f80,
    0x40004000, 0x40004000, 0x40004000, 0x40004000, 0x40004000, 0x40004000, 0x40004000, 0x40004000,
    0x40404040, 0x40404040, 0x40404040, 0x40404040, 0x40404040, 0x40404040, 0x40404040, 0x40404040,
    0x40804080, 0x40804080, 0x40804080, 0x40804080, 0x40804080, 0x40804080, 0x40804080, 0x40804080,
    0x40a040a0, 0x40a040a0, 0x40a040a0, 0x40a040a0, 0x40a040a0, 0x40a040a0, 0x40a040a0, 0x40a040a0,
    0x40c040c0, 0x40c040c0, 0x40c040c0, 0x40c040c0, 0x40c040c0, 0x40c040c0, 0x40c040c0, 0x40c040c0,
    0x40e040e0, 0x40e040e0, 0x40e040e0, 0x40e040e0, 0x40e040e0, 0x40e040e0, 0x40e040e0, 0x40e040e0,
    0x41004100, 0x41004100, 0x41004100, 0x41004100, 0x41004100, 0x41004100, 0x41004100, 0x41004100,
    0x41104110, 0x41104110, 0x41104110, 0x41104110, 0x41104110, 0x41104110, 0x41104110, 0x41104110,
    0x41204120, 0x41204120, 0x41204120, 0x41204120, 0x41204120, 0x41204120, 0x41204120, 0x41204120,
    0x41304130, 0x41304130, 0x41304130, 0x41304130, 0x41304130, 0x41304130, 0x41304130, 0x41304130,
    0x41404140, 0x41404140, 0x41404140, 0x41404140, 0x41404140, 0x41404140, 0x41404140, 0x41404140,
    0x41504150, 0x41504150, 0x41504150, 0x41504150, 0x41504150, 0x41504150, 0x41504150, 0x41504150,
    0x41604160, 0x41604160, 0x41604160, 0x41604160, 0x41604160, 0x41604160, 0x41604160, 0x41604160,
    0x41704170, 0x41704170, 0x41704170, 0x41704170, 0x41704170, 0x41704170, 0x41704170, 0x41704170,
    0x41804180, 0x41804180, 0x41804180, 0x41804180, 0x41804180, 0x41804180, 0x41804180, 0x41804180};

__device__ const unsigned digit_shifts[2] = {
    0x10, 0x0};

__device__ const unsigned codes[128] = {
    0x3f80, 0x4000, 0x4040, 0x4080, 0x40a0, 0x40c0, 0x40e0, 0x4100,
    0x4110, 0x4120, 0x4130, 0x4140, 0x4150, 0x4160, 0x4170, 0x4180,
    0x4188, 0x4190, 0x4198, 0x41a0, 0x41a8, 0x41b0, 0x41b8, 0x41c0,
    0x41c8, 0x41d0, 0x41d8, 0x41e0, 0x41e8, 0x41f0, 0x41f8, 0x4200,
    0x4204, 0x4208, 0x420c, 0x4210, 0x4214, 0x4218, 0x421c, 0x4220,
    0x4224, 0x4228, 0x422c, 0x4230, 0x4234, 0x4238, 0x423c, 0x4240,
    0x4244, 0x4248, 0x424c, 0x4250, 0x4254, 0x4258, 0x425c, 0x4260,
    0x4264, 0x4268, 0x426c, 0x4270, 0x4274, 0x4278, 0x427c, 0x4280,
    0x4282, 0x4284, 0x4286, 0x4288, 0x428a, 0x428c, 0x428e, 0x4290,
    0x4292, 0x4294, 0x4296, 0x4298, 0x429a, 0x429c, 0x429e, 0x42a0,
    0x42a2, 0x42a4, 0x42a6, 0x42a8, 0x42aa, 0x42ac, 0x42ae, 0x42b0,
    0x42b2, 0x42b4, 0x42b6, 0x42b8, 0x42ba, 0x42bc, 0x42be, 0x42c0,
    0x42c2, 0x42c4, 0x42c6, 0x42c8, 0x42ca, 0x42cc, 0x42ce, 0x42d0,
    0x42d2, 0x42d4, 0x42d6, 0x42d8, 0x42da, 0x42dc, 0x42de, 0x42e0,
    0x42e2, 0x42e4, 0x42e6, 0x42e8, 0x42ea, 0x42ec, 0x42ee, 0x42f0,
    0x42f2, 0x42f4, 0x42f6, 0x42f8, 0x42fa, 0x42fc, 0x42fe, 0x4300};

__device__ const unsigned coordinates[32][8] = {
    0x0, 0x1, 0x80000, 0x80001, 0x8, 0x9, 0x80008, 0x80009,
    0x2, 0x3, 0x80002, 0x80003, 0xa, 0xb, 0x8000a, 0x8000b,
    0x4, 0x5, 0x80004, 0x80005, 0xc, 0xd, 0x8000c, 0x8000d,
    0x6, 0x7, 0x80006, 0x80007, 0xe, 0xf, 0x8000e, 0x8000f,
    0x10000, 0x10001, 0x90000, 0x90001, 0x10008, 0x10009, 0x90008, 0x90009,
    0x10002, 0x10003, 0x90002, 0x90003, 0x1000a, 0x1000b, 0x9000a, 0x9000b,
    0x10004, 0x10005, 0x90004, 0x90005, 0x1000c, 0x1000d, 0x9000c, 0x9000d,
    0x10006, 0x10007, 0x90006, 0x90007, 0x1000e, 0x1000f, 0x9000e, 0x9000f,
    0x20000, 0x20001, 0xa0000, 0xa0001, 0x20008, 0x20009, 0xa0008, 0xa0009,
    0x20002, 0x20003, 0xa0002, 0xa0003, 0x2000a, 0x2000b, 0xa000a, 0xa000b,
    0x20004, 0x20005, 0xa0004, 0xa0005, 0x2000c, 0x2000d, 0xa000c, 0xa000d,
    0x20006, 0x20007, 0xa0006, 0xa0007, 0x2000e, 0x2000f, 0xa000e, 0xa000f,
    0x30000, 0x30001, 0xb0000, 0xb0001, 0x30008, 0x30009, 0xb0008, 0xb0009,
    0x30002, 0x30003, 0xb0002, 0xb0003, 0x3000a, 0x3000b, 0xb000a, 0xb000b,
    0x30004, 0x30005, 0xb0004, 0xb0005, 0x3000c, 0x3000d, 0xb000c, 0xb000d,
    0x30006, 0x30007, 0xb0006, 0xb0007, 0x3000e, 0x3000f, 0xb000e, 0xb000f,
    0x40000, 0x40001, 0xc0000, 0xc0001, 0x40008, 0x40009, 0xc0008, 0xc0009,
    0x40002, 0x40003, 0xc0002, 0xc0003, 0x4000a, 0x4000b, 0xc000a, 0xc000b,
    0x40004, 0x40005, 0xc0004, 0xc0005, 0x4000c, 0x4000d, 0xc000c, 0xc000d,
    0x40006, 0x40007, 0xc0006, 0xc0007, 0x4000e, 0x4000f, 0xc000e, 0xc000f,
    0x50000, 0x50001, 0xd0000, 0xd0001, 0x50008, 0x50009, 0xd0008, 0xd0009,
    0x50002, 0x50003, 0xd0002, 0xd0003, 0x5000a, 0x5000b, 0xd000a, 0xd000b,
    0x50004, 0x50005, 0xd0004, 0xd0005, 0x5000c, 0x5000d, 0xd000c, 0xd000d,
    0x50006, 0x50007, 0xd0006, 0xd0007, 0x5000e, 0x5000f, 0xd000e, 0xd000f,
    0x60000, 0x60001, 0xe0000, 0xe0001, 0x60008, 0x60009, 0xe0008, 0xe0009,
    0x60002, 0x60003, 0xe0002, 0xe0003, 0x6000a, 0x6000b, 0xe000a, 0xe000b,
    0x60004, 0x60005, 0xe0004, 0xe0005, 0x6000c, 0x6000d, 0xe000c, 0xe000d,
    0x60006, 0x60007, 0xe0006, 0xe0007, 0x6000e, 0x6000f, 0xe000e, 0xe000f,
    0x70000, 0x70001, 0xf0000, 0xf0001, 0x70008, 0x70009, 0xf0008, 0xf0009,
    0x70002, 0x70003, 0xf0002, 0xf0003, 0x7000a, 0x7000b, 0xf000a, 0xf000b,
    0x70004, 0x70005, 0xf0004, 0xf0005, 0x7000c, 0x7000d, 0xf000c, 0xf000d,
    0x70006, 0x70007, 0xf0006, 0xf0007, 0x7000e, 0x7000f, 0xf000e, 0xf000f};

// Adds the product of one 16x16 and one 16x8 BF16 operand to a 16x8 float accumulator; the whole warp
// takes part. PTX ISA, "Matrix Instructions: mma.sync.m16n8k16".
__device__ __forceinline__ void multiply_accumulate(
    float (&accumulator)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
        "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(accumulator[0]), "+f"(accumulator[1]), "+f"(accumulator[2]), "+f"(accumulator[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

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

// Where the row of the staged operand A begins that a thread hands to ldmatrix, in words.
__device__ __forceinline__ unsigned staged_a(unsigned thread) {
    const unsigned lane = thread & 31u;
    const unsigned warp = thread >> 5;
    return (warp * 256u + (((2u * (lane >> 3) >> 1) & 1u) * 8u + (4u * (lane & 7u) >> 2)) * 16u + ((2u * (lane >> 3) & 1u) + (2u * (lane >> 3) >> 2) * 8u + (4u * (lane & 7u) & 3u) * 2u)) >> 1;
}

// Where the column of the staged operand B begins that a thread hands to ldmatrix, in words.
__device__ __forceinline__ unsigned staged_b(unsigned thread) {
    const unsigned lane = thread & 31u;
    const unsigned warp = thread >> 5;
    return (warp * 256u + (((lane >> 3) >> 1) * 8u + (4u * (lane & 7u) >> 2)) * 16u + ((2u * ((lane >> 3) & 1u) & 1u) + (2u * ((lane >> 3) & 1u) >> 1) * 8u + (4u * (lane & 7u) & 3u) * 2u)) >> 1;
}

// Where the row of the left factor begins that a thread hands to ldmatrix, in words.
__device__ __forceinline__ unsigned left_row(unsigned thread, unsigned m) {
    const unsigned lane = thread & 31u;
    return ((((2u * (lane >> 3) >> 1) & 1u) * 8u + (4u * (lane & 7u) >> 2)) * 16u + ((2u * (lane >> 3) & 1u) + (2u * (lane >> 3) >> 2) * 8u + (4u * (lane & 7u) & 3u) * 2u)) >> 1;
}

// Where the column of the right factor begins that a thread hands to ldmatrix, in words.
__device__ __forceinline__ unsigned right_row(unsigned thread, unsigned k) {
    const unsigned lane = thread & 31u;
    return (((2u * k + ((lane >> 3) >> 1)) * 8u + (4u * (lane & 7u) >> 2)) * 16u + ((2u * ((lane >> 3) & 1u) & 1u) + (2u * ((lane >> 3) & 1u) >> 1) * 8u + (4u * (lane & 7u) & 3u) * 2u)) >> 1;
}

// Puts two adjacent atoms among the registers of the tiled accumulator.
__device__ __forceinline__ void place_pair(
    const float (&left)[4], const float (&right)[4], unsigned m, unsigned k, float (&held)[8]) {
    held[4u * (m + 2u * k)] = left[0];
    held[1u + 4u * (m + 2u * k)] = left[1];
    held[2u + 4u * (m + 2u * k)] = left[2];
    held[3u + 4u * (m + 2u * k)] = left[3];
    held[4u * (m + (2u * k + 1u))] = right[0];
    held[1u + 4u * (m + (2u * k + 1u))] = right[1];
    held[2u + 4u * (m + (2u * k + 1u))] = right[2];
    held[3u + 4u * (m + (2u * k + 1u))] = right[3];
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

// Every half that a thread packs must come from the row and column that the manual gives it.
//
// A matrix product codes one digit of the row, or of the column, into every accumulator element: the
// left factor is diagonal, so that element (row, column) is left[row][row] * right[row][column]. The
// products are made by mma.sync from factors that ldmatrix loads, so that it is the hardware that
// says who holds which element.
__device__ __forceinline__ void check_code(
    Report& report, unsigned plane, unsigned place, unsigned actual) {
    const unsigned coordinate = coordinates[threadIdx.x][place];
    const unsigned expected = codes[(coordinate >> digit_shifts[plane]) & largest_digit];
    check(report, expected == actual, place, expected, actual);
}

extern "C" __global__ void __launch_bounds__(threads) tylo_test_coordinates(unsigned* result) {
    __shared__ __align__(16) unsigned staged_left[staged_words];
    __shared__ __align__(16) unsigned staged_right[staged_words];
    Report report = {};
#pragma unroll 1
    for (unsigned plane = 0; plane < planes; ++plane) {
        float held[accumulator_registers] = {};
#pragma unroll
        for (unsigned k = 0; k < pairs; ++k) {
#pragma unroll
            for (unsigned m = 0; m < repeats_m; ++m) {
                __syncthreads();
                copy_row(
                    left_factors[plane] + left_row(threadIdx.x, m),
                    staged_left + staged_a(threadIdx.x));
                copy_row(
                    right_factors[plane] + right_row(threadIdx.x, k),
                    staged_right + staged_b(threadIdx.x));
                __syncthreads();
                unsigned a[4], b[4];
                load_matrices(staged_left + staged_a(threadIdx.x), a);
                load_matrices(staged_right + staged_b(threadIdx.x), b);
                float left[4] = {}, right[4] = {};
                multiply_accumulate(left, a, b[0], b[1]);
                multiply_accumulate(right, a, b[2], b[3]);
                place_pair(left, right, m, k, held);

                unsigned pair[4] = {};
                pack_operand_a(left, right, pair);
#pragma unroll
                for (unsigned word = 0; word < 4; ++word) {
#pragma unroll
                    for (unsigned half = 0; half < 2; ++half) {
                        check_code(
                            report, plane, half_number(word, half, m, k), half_of(pair[word], half));
                    }
                }
            }
        }
        unsigned packed[word_registers] = {};
#pragma unroll
        for (unsigned k = 0; k < pairs; ++k) {
#pragma unroll
            for (unsigned m = 0; m < repeats_m; ++m) {
                pack_operand_a(held, m, k, packed);
            }
        }
#pragma unroll
        for (unsigned word = 0; word < word_registers; ++word) {
#pragma unroll
            for (unsigned half = 0; half < 2; ++half) {
                check_code(
                    report, plane, half_number(word, half, 0, 0), half_of(packed[word], half));
            }
        }
    }
    publish(report, result);
}
