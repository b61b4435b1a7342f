(** The five facts on which the independent checker's argument rests.

    Everything holds for all integers: radices and divisors may be sizes that are never known. *)
Require Import ZArith Lia.
Open Scope Z_scope.

(** Fact 1. A number below [r * s] is a low digit below [r] and a high part below [s]. *)
Lemma digit : forall x r s, 1 <= r -> 0 <= x < r * s ->
  exists low high, x = low + r * high /\ 0 <= low < r /\ 0 <= high < s.
Proof.
  intros x r s positive [natural below]. exists (x mod r), (x / r).
  pose proof (Z.div_mod x r ltac:(lia)). pose proof (Z.mod_pos_bound x r ltac:(lia)).
  pose proof (Z.div_pos x r natural ltac:(lia)).
  pose proof (Z.div_lt_upper_bound x r s ltac:(lia) below). lia.
Qed.

(** Fact 1, without a top radix. *)
Lemma open_digit : forall x r, 1 <= r -> 0 <= x ->
  exists low high, x = low + r * high /\ 0 <= low < r /\ 0 <= high.
Proof.
  intros x r positive natural. exists (x mod r), (x / r).
  pose proof (Z.div_mod x r ltac:(lia)). pose proof (Z.mod_pos_bound x r ltac:(lia)).
  pose proof (Z.div_pos x r natural ltac:(lia)). lia.
Qed.

(** Fact 1, backwards: all digits give a number below the product, and no two give the same. *)
Lemma digit_range : forall r s low high,
  0 <= low < r -> 0 <= high < s -> 0 <= low + r * high < r * s.
Proof. intros. nia. Qed.

Lemma digit_unique : forall r low high low' high', 0 <= low < r -> 0 <= low' < r ->
  low + r * high = low' + r * high' -> low = low' /\ high = high'.
Proof.
  intros. assert (high = high') by nia. subst. lia.
Qed.

(** Fact 2. Quotient and remainder are unique. *)
Lemma quotient : forall e d q r, e = d * q + r -> 0 <= r < d -> e / d = q.
Proof. intros. symmetry. apply Z.div_unique with r; lia. Qed.

Lemma remainder : forall e d q r, e = d * q + r -> 0 <= r < d -> e mod d = r.
Proof. intros. symmetry. apply Z.mod_unique with q; lia. Qed.

(** Nested quotients and remainders are those of the product. *)
Lemma quotient_twice : forall x r s, 1 <= r -> 1 <= s -> x / r / s = x / (r * s).
Proof. intros. apply Z.div_div; lia. Qed.

Lemma remainder_twice : forall x r s, 1 <= r -> 1 <= s ->
  x mod r + r * (x / r mod s) = x mod (r * s).
Proof. intros. rewrite Z.rem_mul_r by lia. ring. Qed.

(** Multiples of the divisor leave the dividend: the SMT-LIB export uses these. *)
Lemma quotient_shift : forall d p e, 1 <= d -> (d * p + e) / d = p + e / d.
Proof. intros. rewrite Z.add_comm, Z.mul_comm, Z.div_add by lia. ring. Qed.

Lemma remainder_shift : forall d p e, 1 <= d -> (d * p + e) mod d = e mod d.
Proof. intros. rewrite Z.add_comm, Z.mul_comm, Z.mod_add by lia. reflexivity. Qed.

(** Fact 3. Exclusive or, one bit at a time. *)
Lemma bit : forall b, 0 <= b < 2 -> b = 0 \/ b = 1.
Proof. lia. Qed.

Lemma exclusive_or : forall a b x y, 0 <= a < 2 -> 0 <= b < 2 ->
  Z.lxor (a + 2 * x) (b + 2 * y) = a + b - 2 * (a * b) + 2 * Z.lxor x y.
Proof.
  intros a b x y A B. apply Z.bits_inj'. intros n natural.
  rewrite Z.lxor_spec.
  destruct (bit a A), (bit b B); subst; destruct (Z.eq_dec n 0) as [->|up];
    repeat match goal with
    | |- context [0 + 2 * ?z] => replace (0 + 2 * z) with (2 * z) by ring
    | |- context [1 + 2 * ?z] => replace (1 + 2 * z) with (2 * z + 1) by ring
    | |- context [0 + 1 - 2 * (0 * 1) + 2 * ?z] =>
        replace (0 + 1 - 2 * (0 * 1) + 2 * z) with (2 * z + 1) by ring
    | |- context [1 + 0 - 2 * (1 * 0) + 2 * ?z] =>
        replace (1 + 0 - 2 * (1 * 0) + 2 * z) with (2 * z + 1) by ring
    | |- context [?p - 2 * (?q * ?s) + 2 * ?z] =>
        replace (p - 2 * (q * s) + 2 * z) with (2 * z) by ring
    end;
    rewrite ?Z.testbit_even_0, ?Z.testbit_odd_0; try reflexivity;
    replace n with (Z.succ (n - 1)) by lia;
    rewrite ?Z.testbit_even_succ, ?Z.testbit_odd_succ, ?Z.lxor_spec by lia; reflexivity.
Qed.

(** Fact 4. A linear function is least at an end of its digit's range. *)
Lemma least_at_an_end : forall a b d top, 0 <= d <= top ->
  0 <= a -> 0 <= a + b * top -> 0 <= a + b * d.
Proof. intros. destruct (Z.le_gt_cases 0 b); nia. Qed.

Ltac arithmetic := first [ring | lia | nia].
