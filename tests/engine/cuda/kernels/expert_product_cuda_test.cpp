// Products of experts with the rows of their tokens against double.
#include "engine/cuda/kernels/expert_product.hpp"
#include "planner/scratch/cuda_workspace.hpp"
#include "tests/engine/cuda/kernel_test.hpp"

namespace sluice::engine::cuda::testing {
namespace {

constexpr std::int64_t kTile = planner::kExpertTile;

struct Case {
  std::vector<std::int64_t> rows;  ///< Number of rows of each group.
  std::int64_t in, out;
  /// Number of elements in a row of d_y.
  [[nodiscard]] std::int64_t row() const { return planner::router_row(out); }
};

/// Random d_y [rows, each.row()], with zeros behind `out`.
Halves gradients_of(const Case& each, std::int64_t rows, RandomValues& random) {
  Halves d_y = random.halves(rows * each.row());
  for (std::int64_t r = 0; r < rows; ++r) {
    std::fill(d_y.begin() + r * each.row() + each.out, d_y.begin() + (r + 1) * each.row(),
              std::uint16_t{0});
  }
  return d_y;
}

std::vector<Case> cases() {
  return {{{1}, 8, 8},
          {{300}, 72, 200},
          {{0, 1, 127, 128, 129, 0, 300, 0}, 64, 40},
          {{5, 0, 200}, 256, 136},
          {{1}, 8, 1},
          {{300}, 72, 6},
          {{129}, 136, 60},
          {{0, 130, 7}, 40, 131},
          {{0, 0, 0, 1}, 136, 264}};
}

/// Operands of a case; every row is read from some token.
class Operands {
 public:
  explicit Operands(const Case& each) : each_(each), begin_{0} {
    std::vector<std::int32_t> tiles;
    for (std::size_t g = 0; g < each.rows.size(); ++g) {
      for (std::int64_t row = 0; row < each.rows[g]; row += kTile) {
        tiles.push_back(static_cast<std::int32_t>(g));
        tiles.push_back(static_cast<std::int32_t>(begin_.back() + row));
      }
      begin_.push_back(begin_.back() + static_cast<std::int32_t>(each.rows[g]));
    }
    tiles.resize(static_cast<std::size_t>(2 * planner::route_tiles(rows(), groups())), -1);
    on_device_ = std::make_unique<DeviceArray<std::int32_t>>(begin_);
    tiles_ = std::make_unique<DeviceArray<std::int32_t>>(tiles);
    for (std::int64_t r = 0; r < rows(); ++r) {
      index_.push_back(static_cast<std::int32_t>((r * 7) % kTokens));
    }
  }
  [[nodiscard]] std::int64_t rows() const { return begin_.back(); }
  [[nodiscard]] std::int64_t groups() const { return static_cast<std::int64_t>(each_.rows.size()); }
  [[nodiscard]] RowGroups table() const {
    if (groups() == 1) return {.rows = rows()};
    return {
        .begin = on_device_->data(), .tiles = tiles_->data(), .groups = groups(), .rows = rows()};
  }
  [[nodiscard]] std::size_t group_of(std::int64_t row) const {
    std::size_t group = 0;
    while (begin_[group + 1] <= row) ++group;
    return group;
  }
  [[nodiscard]] const std::vector<std::int32_t>& index() const { return index_; }
  static constexpr std::int64_t kTokens = 50;

 private:
  const Case& each_;
  std::vector<std::int32_t> begin_, index_;
  std::unique_ptr<DeviceArray<std::int32_t>> on_device_, tiles_;
};

class ExpertProduct : public KernelTest {};

TEST_F(ExpertProduct, OfRowsAndTheirGroupsMatrixAgreesWithDouble) {
  for (const Case& each : cases()) {
    const Operands operands(each);
    const std::int64_t in = each.in, out = each.out, rows = operands.rows();
    RandomValues random(static_cast<unsigned>(in + out));
    const Halves x = random.halves(Operands::kTokens * in),
                 w = random.halves(operands.groups() * in * out);
    std::vector<double> expected;
    for (std::int64_t r = 0; r < rows; ++r) {
      const std::uint16_t* row = x.data() + operands.index()[r] * in;
      const std::uint16_t* matrix = w.data() + operands.group_of(r) * in * out;
      for (std::int64_t o = 0; o < out; ++o) {
        double sum = 0;
        for (std::int64_t i = 0; i < in; ++i) {
          sum += double(value_of(row[i])) * value_of(matrix[o * in + i]);
        }
        expected.push_back(sum);
      }
    }
    const DeviceArray<std::uint16_t> from(x), matrices(w), halves(rows * out);
    const DeviceArray<std::int32_t> index(operands.index());
    const DeviceArray<float> floats(rows * out);
    const IndexedRows indexed{from.data(), index.data(), in};
    multiply_rows(stream_, indexed, operands.table(), {matrices.data(), in * out}, in, out,
                  floats.data());
    finish();
    EXPECT_TRUE(floats.intact());
    expect_close(floats.values(), expected, 1e-5, std::sqrt(double(in)), "fp32");
    if (out != each.row()) continue;
    multiply_rows(stream_, indexed, operands.table(), {matrices.data(), in * out}, in, out,
                  halves.data());
    finish();
    EXPECT_TRUE(halves.intact());
    expect_close(halves.values(), expected, kOneRounding, 0.01, "bf16");
  }
}

TEST_F(ExpertProduct, OfRowsAndTheTransposedMatrixAgreesWithDouble) {
  for (const Case& each : cases()) {
    const Operands operands(each);
    const std::int64_t in = each.in, out = each.out, rows = operands.rows();
    RandomValues random(static_cast<unsigned>(in + out + 1));
    const Halves d_y = gradients_of(each, rows, random);
    const Halves w = random.halves(operands.groups() * in * out);
    std::vector<double> expected;
    for (std::int64_t r = 0; r < rows; ++r) {
      const std::uint16_t* matrix = w.data() + operands.group_of(r) * in * out;
      for (std::int64_t i = 0; i < in; ++i) {
        double sum = 0;
        for (std::int64_t o = 0; o < out; ++o) {
          sum += double(value_of(d_y[r * each.row() + o])) * value_of(matrix[o * in + i]);
        }
        expected.push_back(sum);
      }
    }
    const DeviceArray<std::uint16_t> from(d_y), matrices(w), d_x(rows * in);
    multiply_rows_transposed(stream_, {from.data(), nullptr, each.row()}, operands.table(),
                             {matrices.data(), in * out}, in, out, d_x.data());
    finish();
    EXPECT_TRUE(d_x.intact());
    expect_close(d_x.values(), expected, kOneRounding, 0.01, "d_x");
  }
}

TEST_F(ExpertProduct, OfTwoSetsOfRowsIsSummedByGroupAndRepeats) {
  for (const Case& each : cases()) {
    const Operands operands(each);
    const std::int64_t in = each.in, out = each.out, rows = operands.rows();
    const std::int64_t matrix = in * out;
    RandomValues random(static_cast<unsigned>(in + out + 2));
    const Halves d_y = gradients_of(each, Operands::kTokens, random);
    const Halves x = random.halves(rows * in);
    const std::vector<float> earlier = random.floats(operands.groups() * matrix);
    const DeviceArray<std::uint16_t> left(d_y), right(x);
    const DeviceArray<std::int32_t> index(operands.index());
    for (const Into into : {Into::overwrite, Into::accumulate}) {
      std::vector<double> expected(earlier.size());
      if (into == Into::accumulate) expected.assign(earlier.begin(), earlier.end());
      for (std::int64_t r = 0; r < rows; ++r) {
        double* sums = expected.data() + static_cast<std::int64_t>(operands.group_of(r)) * matrix;
        for (std::int64_t o = 0; o < out; ++o) {
          for (std::int64_t i = 0; i < in; ++i) {
            sums[o * in + i] += double(value_of(d_y[operands.index()[r] * each.row() + o])) *
                                value_of(x[r * in + i]);
          }
        }
      }
      std::vector<float> before;
      for (int run = 0; run < 2; ++run) {
        const DeviceArray<float> gradients(earlier);
        accumulate_rows(stream_, {left.data(), index.data(), each.row()},
                        {right.data(), nullptr, in}, operands.table(), {gradients.data(), matrix},
                        in, out, into);
        finish();
        EXPECT_TRUE(gradients.intact());
        if (run == 1) {
          EXPECT_EQ(before, gradients.values());
        }
        before = gradients.values();
      }
      expect_close(before, expected, 1e-5, std::sqrt(double(rows)), "gradients");
    }
  }
}

TEST_F(ExpertProduct, RefusesSizesThatAreNoMultiplesOfEight) {
  EXPECT_THROW(multiply_rows(stream_, {}, {.rows = 1}, {}, 12, 8, static_cast<float*>(nullptr)),
               std::logic_error);
  EXPECT_THROW(
      multiply_rows(stream_, {}, {.rows = 1}, {}, 8, 12, static_cast<std::uint16_t*>(nullptr)),
      std::logic_error);
  EXPECT_THROW(multiply_rows_transposed(stream_, {nullptr, nullptr, 12}, {.rows = 1}, {}, 8, 12,
                                        static_cast<std::uint16_t*>(nullptr)),
               std::logic_error);
}

}  // namespace
}  // namespace sluice::engine::cuda::testing
