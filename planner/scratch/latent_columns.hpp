// Heads of latent attention as attention's kernels take them, all of one width: which element of
// which projection stands in each column of a token's row [q k v], and the way back.
#pragma once

namespace sluice::planner {

/// Projection of a token that an element of a head comes from.
enum class LatentSource { query, shared_key, key_value, nothing };

/// Place of an element in its pair of those that turn.
enum class LatentTurn { none, first, second };

/// What stands in a column of [q k v].
struct LatentElement {
  LatentSource source = LatentSource::nothing;
  int column = 0;  ///< Column in the row of its projection.
  LatentTurn turn = LatentTurn::none;
  int pair = 0;  ///< Number of its pair, where it turns.
  friend constexpr bool operator==(const LatentElement&, const LatentElement&) = default;
};

/// Columns of a token's rows. Projections are queries [heads, rotated + plain], the key that all
/// heads share [rotated], and keys and values [heads, plain], [heads, value]. The row [q k v] has
/// `heads` heads of rotated + plain elements in each part; those of v end with zeros.
struct LatentColumns {
  int heads = 0, plain = 0, rotated = 0;
  int value = 0;  ///< At most rotated + plain.

  [[nodiscard]] constexpr int head() const { return rotated + plain; }
  [[nodiscard]] constexpr int query_row() const { return heads * head(); }
  [[nodiscard]] constexpr int key_value_row() const { return heads * (plain + value); }
  [[nodiscard]] constexpr int row() const { return 3 * query_row(); }

  [[nodiscard]] constexpr LatentElement at(int column) const {
    const int part = column / query_row();
    const int number = column % query_row() / head(), i = column % head();
    if (part == 2) {
      if (i >= value) return {};
      return {LatentSource::key_value, heads * plain + number * value + i};
    }
    if (i >= rotated) {
      if (part == 0) return {LatentSource::query, column};
      return {LatentSource::key_value, number * plain + i - rotated};
    }
    const int half = rotated / 2;
    return {part == 0 ? LatentSource::query : LatentSource::shared_key, part == 0 ? column : i,
            i < half ? LatentTurn::first : LatentTurn::second, i % half};
  }
  /// Column of [q k v] in which the column `column` of keys and values stands.
  [[nodiscard]] constexpr int of_key_value(int column) const {
    if (column < heads * plain) {
      return query_row() + column / plain * head() + rotated + column % plain;
    }
    const int behind = column - heads * plain;
    return 2 * query_row() + behind / value * head() + behind % value;
  }
  /// Column of [q k v] in which the column `column` of the shared key stands for the head `number`.
  [[nodiscard]] constexpr int of_shared_key(int column, int number) const {
    return query_row() + number * head() + column;
  }
};

}  // namespace sluice::planner
