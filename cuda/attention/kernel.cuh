// Attention forward: one warp copies, the groups of four warps after it multiply. Sections between
// the roles' braces are printed from the schedule; everything about lanes from layouts.
extern "C" __global__ void __launch_bounds__(threads, residents)
attention(
    const __grid_constant__ TensorMap q_map, const __grid_constant__ TensorMap k_map,
    const __grid_constant__ TensorMap v_map, const __grid_constant__ TensorMap out_map,
    const __grid_constant__ Arguments given) {
    extern __shared__ unsigned char memory[];
    __shared__ unsigned short own_shares[most_shares];
    const unsigned base = (shared_address(memory) + alignment - 1u) & ~(alignment - 1u);
    PLACES
    const Thread who = thread_of(threadIdx.x);
    const unsigned group = __shfl_sync(0xffffffffu, who.group, 0);
    if (threadIdx.x == 0u) {
        BARRIERS
        publish_barriers();
        read_shares(given, own_shares);
    }
    __syncthreads();

    if (group == groups) {
        fewer_registers<producer_registers>();
        if (who.warp == 0u && elected()) {
            Ring q = {0u, 0u}, k = {0u, 0u}, v = {0u, 0u};
            for (int round = 0;; ++round) {
                const Turn turn = turn_of(given, own_shares, round);
                if (turn.item < 0) break;
                const Work work = work_of<rows, step>(given, turn);
                if (work.none) continue;
                TILES_COPIED
                int tile = before(work.tiles);
                if (tile < 0) continue;
                int k_row = tile * step, v_row = k_row;
                const auto copy_q = [&](const Ring& ring) { COPY_Q };
                const auto copy_k = [&](const Ring& ring) { COPY_K };
                const auto copy_v = [&](const Ring& ring) { COPY_V };
                PRODUCER_FIRST
                for (tile = before(tile); tile >= 0; tile = before(tile)) {
                    k_row = tile * step;
                    PRODUCER_FURTHER
                    v_row = k_row;
                }
                PRODUCER_LAST
            }
        }
    } else {
        more_registers<consumer_registers>();
        float scores[score_values], numerator[output_values];
        unsigned weights[weight_words];
        State<row_values> state;
        const unsigned q_tile = q_tiles + group * q_tile_bytes;
        const unsigned q_word = q_tiles / 16u + group * q_tile_words + q_descriptor;
        const unsigned k_word = k_tiles / 16u + k_descriptor;
        const unsigned v_word = v_tiles / 16u + v_descriptor;
        const unsigned out_tile = out_tiles + group * out_tile_bytes;
        Ring q = {0u, 0u}, k = {0u, 0u}, v = {0u, 0u};
        const unsigned own_turn = first_turn + group;
        const unsigned next_turn = first_turn + (group + 1u == groups ? 0u : group + 1u);
        CONSUMER_BEGIN
        for (int round = 0;; ++round) {
            const Turn turn = turn_of(given, own_shares, round);
            if (turn.item < 0) break;
            const Work work = work_of<rows, step>(given, turn);
            if (work.none) continue;
            const int first_row = work.first_row + static_cast<int>(group * group_rows);
            int row[row_values], end[row_values];
            owned_rows(who, row);
#pragma unroll
            for (int r = 0; r < row_values; ++r) {
                row[r] += first_row;
                end[r] = min(given.keys, row[r] + given.diagonal + 1);
            }
            reset(state);
            bool outgrown = false;
#pragma unroll
            for (int i = 0; i < output_values; ++i) numerator[i] = 0.0f;
            // Tiles below this number are whole for every row of the group.
            const int whole = max(0, min(given.keys, first_row + given.diagonal + 1)) / step;
            TILES_MULTIPLIED
            int tile = before(work.tiles);
            MASK_ROWS
            unsigned after_weights = 0u;

            const auto multiply_scores = [&](const Ring& of_q, const Ring& of_k) {
                settle(scores);
                begin_products();
                scores_product(scores, q_word + of_q.slot * (q_bytes / 16u), k_word + of_k.slot * k_tile_words);
                commit_products();
                settle(scores);
            };
            const auto multiply_values = [&](const Ring& of_v) {
                settle(weights);
                settle(numerator);
                begin_products();
                values_product(numerator, weights, v_word + of_v.slot * v_tile_words);
                commit_products();
                settle(numerator);
                settle(weights);
            };
            const auto prepare = [&]() {
                if (given.factor != 1.0f) {
#pragma unroll
                    for (int i = 0; i < score_values; ++i) scores[i] *= given.factor;
                }
                DROP_KEYS
            };
            const auto compute_weights = [&](const Ring& of_q, const Ring& of_k) {
                prepare();
                WEIGH
                after_weights = __float_as_uint(total_of(state.sum)) & given.zero;
            };
            const auto compute_pack = [&]() { pack_weights(scores, weights); };
            const auto compute_rescale = [&]() {
                if (state.moved) scale_rows(state.rescale, numerator);
            };

            if (tile >= 0) {
                fetch_mask();
                CONSUMER_FIRST
#pragma unroll 1
                for (tile = before(tile); tile >= 0; tile = before(tile)) {
                    fetch_mask();
                    CONSUMER_FURTHER
                }
                CONSUMER_LAST
            }
            sum_lanes(state.sum);
            float inverse[row_values];
#pragma unroll
            for (int r = 0; r < row_values; ++r) {
                inverse[r] = state.sum[r] == 0.0f ? 0.0f : __frcp_rn(state.sum[r]);
                if (given.lse != nullptr && owns_row(who) && row[r] < given.queries) {
                    const long long head = static_cast<long long>(work.batch) * given.heads
                        + work.head;
                    given.lse[head * given.queries + row[r]]
                        = log_sum_exp(given.unit, given.scale, state.maximum[r], state.sum[r]);
                }
            }
            scale_rows(inverse, numerator);
            STORE
        }
        STORE_END
    }
}
