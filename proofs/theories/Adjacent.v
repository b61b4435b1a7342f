(** Two adjacent 16x8 accumulator atoms supply a 16x16 A operand in the same lanes: for all lanes,
    words, halves and repeats, and for every row pitch. Formulas: PTX ISA, mma.m16n8k16. *)
Require Import ZArith Lia.
Open Scope Z_scope.

Definition c_row lane value := lane / 4 + 8 * (value / 2).
Definition c_column lane value := 2 * (lane mod 4) + value mod 2.
Definition a_row lane value := lane / 4 + 8 * (value / 2 mod 2).
Definition a_column lane value := 2 * (lane mod 4) + value mod 2 + 8 * (value / 4).

(** Value [2*w + h] of A stands where value [2*(w mod 2) + h] of C's atom [2*k + w/2] stands. *)
Theorem same_coordinates : forall lane w h m k, 0 <= lane < 32 -> 0 <= w < 4 -> 0 <= h < 2 ->
  16 * m + a_row lane (2 * w + h) = 16 * m + c_row lane (2 * (w mod 2) + h) /\
  16 * k + a_column lane (2 * w + h)
    = 8 * (2 * k + w / 2) + c_column lane (2 * (w mod 2) + h).
Proof.
  unfold a_row, a_column, c_row, c_column. intros. Z.div_mod_to_equations. lia.
Qed.

(** The register that word [w], half [h] is packed from exists, for all repeat counts. *)
Theorem source_register : forall M K w h m k,
  0 <= w < 4 -> 0 <= h < 2 -> 0 <= m < M -> 0 <= k < K ->
  0 <= 2 * (w mod 2) + h + 4 * (m + M * (2 * k + w / 2)) < 8 * M * K.
Proof.
  intros. assert (0 <= w mod 2 < 2 /\ 0 <= w / 2 < 2) as [low high]
    by (Z.div_mod_to_equations; lia).
  assert (0 <= m + M * (2 * k + w / 2) < M * (2 * K)) by nia. nia.
Qed.

(** Different owners hold different elements of a tile. *)
Theorem a_injective : forall lane value lane' value',
  0 <= lane < 32 -> 0 <= value < 8 -> 0 <= lane' < 32 -> 0 <= value' < 8 ->
  a_row lane value = a_row lane' value' -> a_column lane value = a_column lane' value' ->
  lane = lane' /\ value = value'.
Proof. unfold a_row, a_column. intros. Z.div_mod_to_equations. lia. Qed.

(** Every element of a tile has an owner. *)
Theorem a_covers : forall row column, 0 <= row < 16 -> 0 <= column < 16 ->
  exists lane value, 0 <= lane < 32 /\ 0 <= value < 8 /\
    a_row lane value = row /\ a_column lane value = column.
Proof.
  unfold a_row, a_column. intros row column rows columns.
  exists (4 * (row mod 8) + column mod 8 / 2), (4 * (column / 8) + 2 * (row / 8) + column mod 2).
  Z.div_mod_to_equations. lia.
Qed.
