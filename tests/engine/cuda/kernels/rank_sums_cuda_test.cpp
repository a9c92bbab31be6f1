// Sums over ranks on the device, against the host's tree and against the sums of one rank.
#include "engine/cuda/kernels/gradient.hpp"
#include "engine/cuda/kernels/rank_sums.hpp"
#include "engine/host/rank_tree.hpp"
#include "tests/engine/cuda/kernel_test.hpp"

namespace sluice::engine::cuda::testing {
namespace {

class RankSums : public KernelTest {};

TEST_F(RankSums, GradientsOfRanksAddUpAlongTheHostsTreeWhicheverRankAdds) {
  for (int ranks = 2; ranks <= kMostSummedRanks; ++ranks) {
    for (const std::int64_t count : {4, 4096, 12'288, 1'000'004}) {
      const std::vector<float> all = RandomValues(3).floats(ranks * count);
      std::vector<float> expected(static_cast<std::size_t>(count));
      RankTree(ranks, [&](int rank) {
        return all.data() + rank * count;
      }).sum(count, expected.data());
      for (const int rank : {0, ranks / 2, ranks - 1}) {
        std::vector<float> others;
        for (int peer = 0; peer < ranks; ++peer) {
          if (peer == rank) continue;
          others.insert(others.end(), all.begin() + peer * count, all.begin() + (peer + 1) * count);
        }
        const DeviceArray<float> own(
            std::vector<float>(all.begin() + rank * count, all.begin() + (rank + 1) * count));
        const DeviceArray<float> received(others), apart(count);
        sum_ranks(stream_, own.data(), received.data(), rank, ranks, count, apart.data());
        sum_ranks(stream_, own.data(), received.data(), rank, ranks, count, own.data());
        finish();
        EXPECT_EQ(own.values(), expected) << "rank " << rank << " of " << ranks << ", " << count;
        EXPECT_EQ(apart.values(), expected) << "rank " << rank << " of " << ranks << ", " << count;
        EXPECT_TRUE(own.intact() && apart.intact());
      }
    }
  }
}

TEST_F(RankSums, TheOrderOfAdditionsShows) {
  // (2^24 + 1) + (1 + 1) is 2^24 + 2, and one after the other it is 2^24.
  const DeviceArray<float> own(std::vector<float>{16'777'216, 16'777'216, 16'777'216, 16'777'216});
  const DeviceArray<float> received(std::vector<float>(12, 1));
  sum_ranks(stream_, own.data(), received.data(), 0, 4, 4, own.data());
  finish();
  EXPECT_EQ(own.values(), std::vector<float>(4, 16'777'218));
}

TEST_F(RankSums, BlocksInRunsOfRanksAddUpAsTheyDoInOneRow) {
  for (const int ranks : {2, 4, 8}) {
    // Blocks of each unit in a rank's run; the last ones of the last rank are of padding.
    const std::vector<std::int64_t> counts{1, 3, 700, 5000, 1, 64, 9};
    std::vector<PartOfRuns> parts;
    std::int64_t run = 0;
    for (int i = 0; i < 12; ++i) {  // More parts than one launch takes.
      for (const std::int64_t count : counts) {
        parts.push_back({run, count});
        run += count;
      }
    }
    std::vector<double> all;
    for (const float value : RandomValues(7).floats(run * ranks))
      all.push_back(double{value} * value);
    for (const PartOfRuns& part : parts) {
      if (part.count > 1) all[(ranks - 1) * run + part.offset + part.count - 1] = 0;
    }
    const DeviceArray<double> runs(all);
    const auto units = static_cast<std::int64_t>(parts.size());
    const DeviceArray<double> sums(units);
    sum_parts(stream_, {runs.data(), run, ranks}, parts, sums.data());
    finish();
    const std::vector<double> found = sums.values();
    for (std::size_t u = 0; u < counts.size(); ++u) {
      std::vector<double> row;
      for (int rank = 0; rank < ranks; ++rank) {
        const auto first = all.begin() + rank * run + parts[u].offset;
        row.insert(row.end(), first, first + parts[u].count);
      }
      const DeviceArray<double> in_row(row), copy(static_cast<std::int64_t>(row.size())), sum(1);
      // One rank has no blocks of padding.
      const std::int64_t of_one = std::ssize(row) - (parts[u].count > 1 ? 1 : 0);
      sum_blocks(stream_, in_row.data(), of_one, sum.data());
      copy_part(stream_, {runs.data(), run, ranks}, parts[u], copy.data());
      finish();
      EXPECT_EQ(found[u], sum.values()[0]) << "unit " << u << " of " << ranks << " ranks";
      EXPECT_EQ(copy.values(), row);
      EXPECT_TRUE(copy.intact());
    }
    EXPECT_TRUE(sums.intact());
  }
}

}  // namespace
}  // namespace sluice::engine::cuda::testing
