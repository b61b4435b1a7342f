(** The online softmax over the real numbers, with an explicit empty state.

    A row is a list of entries; an entry is a score, or nothing where it is masked, and a value.
    The weight of score [x] under the reference [r] is [exp (c * (x - r))], for any real [c] that
    stands for the scale (times the logarithm of the base). Nothing here rounds. *)
Require Import Reals Lra List Permutation.
Import ListNotations.
Open Scope R_scope.

Definition entry : Type := (option R * R)%type.

Inductive state : Type :=
| Empty : state
| Summary : R -> R -> R -> state.

Definition weight (c x r : R) : R := exp (c * (x - r)).

(** The sum of weights, and the sum of weighted values, under a reference. *)
Fixpoint total (c r : R) (row : list entry) : R :=
  match row with
  | [] => 0
  | (None, _) :: rest => total c r rest
  | (Some x, _) :: rest => weight c x r + total c r rest
  end.

Fixpoint numerator (c r : R) (row : list entry) : R :=
  match row with
  | [] => 0
  | (None, _) :: rest => numerator c r rest
  | (Some x, v) :: rest => weight c x r * v + numerator c r rest
  end.

Definition join (a b : option R) : option R :=
  match a, b with
  | None, other | other, None => other
  | Some x, Some y => Some (Rmax x y)
  end.

Fixpoint greatest (row : list entry) : option R :=
  match row with
  | [] => None
  | (x, _) :: rest => join x (greatest rest)
  end.

(** What a state of a whole row is by definition. *)
Definition summary (c : R) (row : list entry) : state :=
  match greatest row with
  | None => Empty
  | Some m => Summary m (total c m row) (numerator c m row)
  end.

(** What the program does with a tile. *)
Definition update (c : R) (s : state) (tile : list entry) : state :=
  match s, greatest tile with
  | _, None => s
  | Empty, Some t => Summary t (total c t tile) (numerator c t tile)
  | Summary m l o, Some t =>
      let m' := Rmax m t in
      Summary m' (weight c m m' * l + total c m' tile) (weight c m m' * o + numerator c m' tile)
  end.

Definition merge (c : R) (a b : state) : state :=
  match a, b with
  | Empty, other | other, Empty => other
  | Summary m l o, Summary m' l' o' =>
      let r := Rmax m m' in
      Summary r (weight c m r * l + weight c m' r * l') (weight c m r * o + weight c m' r * o')
  end.

(** ** Weights *)

Lemma weight_positive : forall c x r, 0 < weight c x r.
Proof. intros. apply exp_pos. Qed.

Lemma weight_chain : forall c x r s, weight c x r * weight c r s = weight c x s.
Proof. intros. unfold weight. rewrite <- exp_plus. f_equal. ring. Qed.

Lemma weight_of_itself : forall c r, weight c r r = 1.
Proof. intros. unfold weight. rewrite Rminus_diag_eq, Rmult_0_r by reflexivity. apply exp_0. Qed.

Lemma total_nonnegative : forall c r row, 0 <= total c r row.
Proof.
  intros c r row. induction row as [|[[x|] v] row IH]; simpl; try lra.
  pose proof (weight_positive c x r). lra.
Qed.

(** Another reference only multiplies everything by one factor. *)
Lemma total_rebased : forall c r s row, weight c r s * total c r row = total c s row.
Proof.
  intros c r s row. induction row as [|[[x|] v] row IH]; simpl; try assumption; try ring.
  rewrite <- IH, <- (weight_chain c x r s). ring.
Qed.

Lemma numerator_rebased : forall c r s row, weight c r s * numerator c r row = numerator c s row.
Proof.
  intros c r s row. induction row as [|[[x|] v] row IH]; simpl; try assumption; try ring.
  rewrite <- IH, <- (weight_chain c x r s). ring.
Qed.

Lemma total_app : forall c r a b, total c r (a ++ b) = total c r a + total c r b.
Proof. intros c r a b. induction a as [|[[x|] v] a IH]; simpl; lra. Qed.

Lemma numerator_app : forall c r a b, numerator c r (a ++ b) = numerator c r a + numerator c r b.
Proof. intros c r a b. induction a as [|[[x|] v] a IH]; simpl; lra. Qed.

(** ** The greatest score *)

Lemma join_assoc : forall a b c, join (join a b) c = join a (join b c).
Proof. intros [a|] [b|] [c|]; simpl; try reflexivity. rewrite Rmax_assoc. reflexivity. Qed.

Lemma join_comm : forall a b, join a b = join b a.
Proof. intros [a|] [b|]; simpl; try reflexivity. rewrite Rmax_comm. reflexivity. Qed.

Lemma greatest_app : forall a b, greatest (a ++ b) = join (greatest a) (greatest b).
Proof.
  intros a b. induction a as [|[x v] a IH]; simpl.
  - destruct (greatest b); reflexivity.
  - rewrite IH, join_assoc. reflexivity.
Qed.

Lemma nothing_kept : forall row, greatest row = None ->
  forall c r, total c r row = 0 /\ numerator c r row = 0.
Proof.
  intros row. induction row as [|[[x|] v] row IH]; simpl; intros none c r.
  - split; reflexivity.
  - destruct (greatest row); discriminate.
  - apply IH. destruct (greatest row); [discriminate | reflexivity].
Qed.

Lemma nothing_above : forall row m, greatest row = Some m ->
  forall x v, In (Some x, v) row -> x <= m.
Proof.
  intros row. induction row as [|[[y|] w] row IH]; simpl; intros m top x v member.
  - contradiction.
  - destruct (greatest row) as [g|] eqn:G; injection top as <-; destruct member as [same|member].
    + injection same as -> _. apply Rmax_l.
    + apply Rle_trans with g; [exact (IH g eq_refl x v member) | apply Rmax_r].
    + injection same as -> _. apply Rle_refl.
    + exfalso. clear - G member. induction row as [|[[z|] u] row IH]; simpl in *.
      * contradiction.
      * destruct (greatest row); discriminate.
      * destruct member as [same|member]; [discriminate|].
        apply IH; [destruct (greatest row); [discriminate | reflexivity] | exact member].
  - destruct member as [same|member]; [discriminate|].
    apply (IH m) with v; [destruct (greatest row); exact top | exact member].
Qed.

(** The greatest score is one of the kept ones: it weighs one, so that a sum is never below one. *)
Lemma total_at_least_one : forall c row m, greatest row = Some m -> 0 <= c -> 1 <= total c m row.
Proof.
  intros c row. induction row as [|[[x|] v] row IH]; simpl; intros m top natural.
  - discriminate.
  - destruct (greatest row) as [g|] eqn:G; injection top as <-.
    + unfold Rmax. destruct (Rle_dec x g) as [below|above].
      * pose proof (weight_positive c x g). pose proof (IH g eq_refl natural). lra.
      * rewrite weight_of_itself. pose proof (total_nonnegative c x row). lra.
    + rewrite weight_of_itself. pose proof (total_nonnegative c x row). lra.
  - apply IH; [destruct (greatest row); exact top | exact natural].
Qed.

(** ** Update *)

Theorem update_from_empty : forall c tile, update c Empty tile = summary c tile.
Proof. intros. unfold update, summary. destruct (greatest tile); reflexivity. Qed.

Theorem empty_update : forall c s tile, greatest tile = None -> update c s tile = s.
Proof. intros c s tile none. unfold update. rewrite none. destruct s; reflexivity. Qed.

Theorem update_of_summary : forall c row tile,
  update c (summary c row) tile = summary c (row ++ tile).
Proof.
  intros c row tile. unfold update, summary. rewrite greatest_app.
  destruct (greatest row) as [m|] eqn:R; destruct (greatest tile) as [t|] eqn:T; simpl;
    rewrite ?total_app, ?numerator_app, ?total_rebased, ?numerator_rebased; try reflexivity.
  - destruct (nothing_kept tile T c m) as [-> ->]. f_equal; ring.
  - destruct (nothing_kept row R c t) as [-> ->]. f_equal; ring.
Qed.

(** Folding any sequence of tiles is the softmax of the whole row. *)
Theorem fold_is_whole : forall c tiles,
  fold_left (update c) tiles Empty = summary c (concat tiles).
Proof.
  intros c tiles.
  assert (general : forall row, fold_left (update c) tiles (summary c row)
    = summary c (row ++ concat tiles)).
  { induction tiles as [|tile tiles IH]; simpl; intros row.
    - rewrite app_nil_r. reflexivity.
    - rewrite update_of_summary, IH, app_assoc. reflexivity. }
  exact (general []).
Qed.

(** The order inside a row means nothing: any schedule of a reduction gives the same state. *)
Theorem order_is_free : forall c a b, Permutation a b -> summary c a = summary c b.
Proof.
  intros c a b same.
  assert (totals : forall r, total c r a = total c r b /\ numerator c r a = numerator c r b).
  { intros r. induction same as [|[[x|] v] a b _ IH|[[x|] v] [[y|] w] a|a b d _ IH _ IH2];
      simpl; lra. }
  assert (tops : greatest a = greatest b).
  { clear totals. induction same as [|[x v] a b _ IH|[x v] [y w] a|a b d _ IH _ IH2]; simpl.
    - reflexivity.
    - rewrite IH. reflexivity.
    - rewrite <- !join_assoc, (join_comm y x). reflexivity.
    - rewrite IH. exact IH2. }
  unfold summary. rewrite tops. destruct (greatest b) as [m|]; [|reflexivity].
  destruct (totals m) as [-> ->]. reflexivity.
Qed.

(** ** Merge *)

Theorem merge_empty_left : forall c s, merge c Empty s = s.
Proof. intros c [|m l o]; reflexivity. Qed.

Theorem merge_empty_right : forall c s, merge c s Empty = s.
Proof. intros c [|m l o]; reflexivity. Qed.

Theorem merge_commutes : forall c a b, merge c a b = merge c b a.
Proof.
  intros c [|m l o] [|m' l' o']; simpl; try reflexivity.
  rewrite (Rmax_comm m' m). f_equal; ring.
Qed.

Theorem merge_associates : forall c x y z, merge c (merge c x y) z = merge c x (merge c y z).
Proof.
  intros c [|m l o] [|m' l' o'] [|m'' l'' o'']; simpl; try reflexivity.
  rewrite Rmax_assoc. set (left := Rmax m m'). set (right := Rmax m' m'').
  set (top := Rmax left m'').
  assert (middle : weight c m' left * weight c left top = weight c m' right * weight c right top)
    by (rewrite !weight_chain; reflexivity).
  rewrite <- (weight_chain c m left top), <- (weight_chain c m'' right top).
  assert (same : forall x y z,
    weight c left top * (weight c m left * x + weight c m' left * y)
      + weight c m'' right * weight c right top * z
    = weight c m left * weight c left top * x
      + weight c right top * (weight c m' right * y + weight c m'' right * z)).
  { intros. transitivity (weight c m left * weight c left top * x
      + weight c m' left * weight c left top * y + weight c m'' right * weight c right top * z);
      [ring | rewrite middle; ring]. }
  rewrite !same. reflexivity.
Qed.

Theorem merge_of_summaries : forall c a b,
  merge c (summary c a) (summary c b) = summary c (a ++ b).
Proof.
  intros c a b. unfold merge, summary. rewrite greatest_app.
  destruct (greatest a) as [m|] eqn:A; destruct (greatest b) as [t|] eqn:B; simpl;
    rewrite ?total_app, ?numerator_app, ?total_rebased, ?numerator_rebased; try reflexivity.
  - destruct (nothing_kept b B c m) as [-> ->]. f_equal; ring.
  - destruct (nothing_kept a A c t) as [-> ->]. f_equal; ring.
Qed.

(** Partial states brought together at once, the maximum first: what [merge_lanes] does. *)
Definition part (c m : R) (row : list entry) : R :=
  match summary c row with Empty => 0 | Summary t l _ => weight c t m * l end.

Theorem parts_make_the_whole : forall c m rows,
  fold_right (fun row rest => part c m row + rest) 0 rows = total c m (concat rows).
Proof.
  intros c m rows. induction rows as [|row rows IH]; simpl; [reflexivity|].
  rewrite total_app, <- IH. f_equal. unfold part, summary.
  destruct (greatest row) as [t|] eqn:T; [apply total_rebased|].
  destruct (nothing_kept row T c m) as [-> _]. reflexivity.
Qed.

(** ** Nothing undefined is evaluated *)

Theorem empty_means_nothing_kept : forall c row,
  summary c row = Empty <-> (forall x v, ~ In (Some x, v) row).
Proof.
  intros c row. unfold summary. split.
  - destruct (greatest row) as [m|] eqn:G; [discriminate|]. intros _.
    induction row as [|[[y|] w] row IH]; simpl in *; intros x v member; try contradiction.
    + destruct (greatest row); discriminate.
    + destruct member as [same|member]; [discriminate|].
      apply (IH) with x v; [destruct (greatest row); [discriminate|reflexivity] | exact member].
  - intros nothing. assert (greatest row = None) as ->; [|reflexivity].
    induction row as [|[[y|] w] row IH]; simpl.
    + reflexivity.
    + exfalso. apply (nothing y w). left. reflexivity.
    + rewrite IH; [reflexivity|]. intros x v member. apply (nothing x v). right. exact member.
Qed.

Theorem arguments_are_not_positive : forall c row m l o x v, 0 <= c ->
  summary c row = Summary m l o -> In (Some x, v) row -> c * (x - m) <= 0.
Proof.
  intros c row m l o x v natural made member. unfold summary in made.
  destruct (greatest row) as [g|] eqn:G; [|discriminate]. injection made as <- _ _.
  pose proof (nothing_above row g G x v member).
  replace 0 with (c * 0) by ring. apply Rmult_le_compat_l; lra.
Qed.

Theorem sum_is_at_least_one : forall c row m l o, 0 <= c ->
  summary c row = Summary m l o -> 1 <= l.
Proof.
  intros c row m l o natural made. unfold summary in made.
  destruct (greatest row) as [g|] eqn:G; [|discriminate]. injection made as _ <- _.
  exact (total_at_least_one c row g G natural).
Qed.

(** ** What comes out is the softmax *)

Lemma total_positive : forall c r row m, greatest row = Some m -> 0 < total c r row.
Proof.
  intros c r row. induction row as [|[[x|] v] row IH]; simpl; intros m top.
  - discriminate.
  - pose proof (weight_positive c x r). pose proof (total_nonnegative c r row). lra.
  - apply (IH m). destruct (greatest row); exact top.
Qed.

(** Any reference gives the same normalised weights, weighted means and log-sum-exp. *)
Theorem reference_is_free : forall c r s row m x, greatest row = Some m ->
  weight c x r / total c r row = weight c x s / total c s row /\
  numerator c r row / total c r row = numerator c s row / total c s row /\
  c * r + ln (total c r row) = c * s + ln (total c s row).
Proof.
  intros c r s row m x top.
  pose proof (total_positive c r row m top) as positive.
  pose proof (weight_positive c r s) as factor.
  rewrite <- (weight_chain c x r s), <- (total_rebased c r s row), <- (numerator_rebased c r s row).
  split; [|split].
  - field. split; lra.
  - field. split; lra.
  - rewrite ln_mult by assumption. unfold weight. rewrite ln_exp. ring.
Qed.

(** Under the reference 0 the weights are [exp (c * x)]: the softmax of the textbook. *)
Theorem state_gives_the_softmax : forall c row m l o x, summary c row = Summary m l o ->
  weight c x m / l = weight c x 0 / total c 0 row /\
  o / l = numerator c 0 row / total c 0 row /\
  c * m + ln l = ln (total c 0 row).
Proof.
  intros c row m l o x made. unfold summary in made.
  destruct (greatest row) as [g|] eqn:G; [|discriminate]. injection made as <- <- <-.
  destruct (reference_is_free c g 0 row g x G) as (weights & means & logarithm).
  repeat split; [exact weights | exact means | rewrite logarithm; ring].
Qed.
