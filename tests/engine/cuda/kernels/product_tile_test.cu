// Where the operands of a product's tile lie in shared memory, on the processor: every vector has a
// place of its own, and the rows that ldmatrix reads together lie in different banks.
#include <gtest/gtest.h>

#include <set>

#include "engine/cuda/kernels/product_tile.cuh"

namespace sluice::engine::cuda {
namespace {

constexpr int kEight = static_cast<int>(kVector);
constexpr int kBankGroups = 8;  // Groups of four banks, 16 bytes each.

template <Layout L>
void expect_own_places() {
  std::set<int> places;
  constexpr bool kInRow = L == Layout::terms_in_row;
  for (int result = 0; result < kTile; result += kInRow ? 1 : kEight) {
    for (int term = 0; term < kDepth; term += kInRow ? kEight : 1) {
      const int at = shared_at<L>(result, term);
      EXPECT_EQ(at % kEight, 0);
      EXPECT_TRUE(at >= 0 && at < kOperand) << result << ", " << term;
      EXPECT_TRUE(places.insert(at).second) << result << ", " << term;
    }
  }
}

template <Layout L>
void expect_different_banks(LaneRow (*row_of)(int)) {
  for (int first = 0; first < kTile; first += kRows) {
    for (int term = 0; term < kDepth; term += kTerms) {
      for (int matrix = 0; matrix < 4; ++matrix) {
        std::set<int> groups;
        for (int lane = 8 * matrix; lane < 8 * matrix + 8; ++lane) {
          const LaneRow row = row_of(lane);
          groups.insert(shared_at<L>(first + row.result, term + row.term) / kEight % kBankGroups);
        }
        EXPECT_EQ(groups.size(), kBankGroups) << first << ", " << term << ", " << matrix;
      }
    }
  }
}

constexpr auto kInRow = Layout::terms_in_row;
constexpr auto kInColumn = Layout::terms_in_column;

TEST(ProductTile, EveryVectorHasAPlaceOfItsOwn) {
  expect_own_places<kInRow>();
  expect_own_places<kInColumn>();
}

TEST(ProductTile, RowsThatAreReadTogetherLieInDifferentBanks) {
  expect_different_banks<kInRow>([](int lane) { return left_row<kInRow>(lane); });
  expect_different_banks<kInRow>([](int lane) { return right_row<kInRow>(lane); });
  expect_different_banks<kInColumn>([](int lane) { return left_row<kInColumn>(lane); });
  expect_different_banks<kInColumn>([](int lane) { return right_row<kInColumn>(lane); });
}

}  // namespace
}  // namespace sluice::engine::cuda
