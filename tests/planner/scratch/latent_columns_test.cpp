// Where elements of latent attention's projections stand in rows [q k v].
#include "planner/scratch/latent_columns.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace sluice::planner {
namespace {

/// Three heads of 2 elements that turn and 3 that do not, with values of 4.
constexpr LatentColumns kSmall{.heads = 3, .plain = 3, .rotated = 2, .value = 4};

TEST(LatentColumns, AreThoseOfWholeHeads) {
  using enum LatentSource;
  using enum LatentTurn;
  EXPECT_EQ(kSmall.row(), 3 * 3 * 5);
  EXPECT_EQ(kSmall.key_value_row(), 3 * (3 + 4));
  // Queries are as projected; the first two elements of each head are a pair.
  EXPECT_EQ(kSmall.at(5), (LatentElement{query, 5, first, 0}));
  EXPECT_EQ(kSmall.at(6), (LatentElement{query, 6, second, 0}));
  EXPECT_EQ(kSmall.at(7), (LatentElement{query, 7}));
  // Keys of head 1 begin at column 15 + 5: with the shared key, then their own elements 3 to 5.
  EXPECT_EQ(kSmall.at(20), (LatentElement{shared_key, 0, first, 0}));
  EXPECT_EQ(kSmall.at(21), (LatentElement{shared_key, 1, second, 0}));
  EXPECT_EQ(kSmall.at(22), (LatentElement{key_value, 3}));
  // Values of head 2 begin at column 30 + 10: elements 9 + 8 on, and one column of zeros.
  EXPECT_EQ(kSmall.at(40), (LatentElement{key_value, 17}));
  EXPECT_EQ(kSmall.at(43), (LatentElement{key_value, 20}));
  EXPECT_EQ(kSmall.at(44), LatentElement{});
}

TEST(LatentColumns, OfPairsAreHalfOfWhatTurnsApart) {
  constexpr LatentColumns kWide{.heads = 2, .plain = 8, .rotated = 32, .value = 16};
  for (int head = 0; head < 2; ++head) {
    for (int i = 0; i < 32; ++i) {
      const LatentElement element = kWide.at(kWide.of_shared_key(i, head));
      EXPECT_EQ(element.column, i);
      EXPECT_EQ(element.turn, i < 16 ? LatentTurn::first : LatentTurn::second);
      EXPECT_EQ(element.pair, i % 16);
      EXPECT_EQ(kWide.at(head * 40 + i).pair, i % 16);
    }
  }
}

TEST(LatentColumns, TakeEveryElementOnceAndTheSharedKeyForEveryHead) {
  for (const LatentColumns& columns :
       {kSmall, LatentColumns{.heads = 4, .plain = 64, .rotated = 32, .value = 64},
        LatentColumns{.heads = 2, .plain = 128, .rotated = 64, .value = 192}}) {
    std::vector<int> query(static_cast<std::size_t>(columns.query_row()));
    std::vector<int> shared(static_cast<std::size_t>(columns.rotated));
    std::vector<int> key_value(static_cast<std::size_t>(columns.key_value_row()));
    int zeros = 0;
    for (int column = 0; column < columns.row(); ++column) {
      const LatentElement element = columns.at(column);
      const auto at = static_cast<std::size_t>(element.column);
      if (element.source == LatentSource::query) ++query.at(at);
      if (element.source == LatentSource::shared_key) ++shared.at(at);
      if (element.source == LatentSource::nothing) ++zeros;
      if (element.source != LatentSource::key_value) continue;
      ++key_value.at(at);
      EXPECT_EQ(columns.of_key_value(element.column), column) << "the way back";
    }
    EXPECT_EQ(query, std::vector<int>(query.size(), 1));
    EXPECT_EQ(shared, std::vector<int>(shared.size(), columns.heads));
    EXPECT_EQ(key_value, std::vector<int>(key_value.size(), 1));
    EXPECT_EQ(zeros, columns.heads * (columns.head() - columns.value));
  }
}

}  // namespace
}  // namespace sluice::planner
