#include "engine/model_files/expert_stacks.hpp"

#include <optional>
#include <string_view>
#include <vector>

#include "sim/error.hpp"

namespace sluice::engine {
namespace {

/// A stack: for each expert the rows of one matrix, or of two that follow each other.
struct Stack {
  std::string name;
  std::vector<std::string_view> matrices;  ///< Suffixes of the expert's tensors in the stack.
  std::int64_t rows = 0, cols = 0;         ///< Sizes of one matrix.
  [[nodiscard]] std::int64_t all_rows() const {
    return rows * static_cast<std::int64_t>(matrices.size());
  }
};

enum class Axes { rows_first, columns_first };

std::vector<std::int64_t> shape_of(const Stack& stack, std::int64_t experts, Axes axes) {
  if (axes == Axes::rows_first) return {experts, stack.all_rows(), stack.cols};
  return {experts, stack.cols, stack.all_rows()};
}

/// The stacks that a block may have, by the names that follow its prefix.
std::vector<Stack> stacks_of(const planner::ModelShape& shape, const planner::ExpertNames& names) {
  const std::int64_t wide = shape.experts->intermediate;
  std::vector<Stack> stacks;
  for (const char* experts : {"mlp.experts.", "block_sparse_moe.experts."}) {
    const std::string prefix = experts;
    stacks.push_back({prefix + "gate_up_proj", {names.gate, names.up}, wide, shape.hidden});
    stacks.push_back({prefix + "gate_proj", {names.gate}, wide, shape.hidden});
    stacks.push_back({prefix + "up_proj", {names.up}, wide, shape.hidden});
    stacks.push_back({prefix + "down_proj", {names.down}, shape.hidden, wide});
  }
  return stacks;
}

/// A stack that a file has.
struct Found {
  Stack stack;
  std::string block;  ///< Prefix of the block's tensors.
  TensorPlace place;
};

std::vector<Found> found_stacks(const TensorPlaces& places, const planner::ModelShape& shape,
                                const planner::ExpertNames& names) {
  std::vector<Found> found;
  const std::vector<Stack> stacks = stacks_of(shape, names);
  for (std::int64_t layer = 0; layer < shape.layers; ++layer) {
    const std::string block = "model.layers." + std::to_string(layer) + ".";
    for (const Stack& stack : stacks) {
      const auto at = places.find(block + stack.name);
      if (at != places.end()) found.push_back({stack, block, at->second});
    }
  }
  return found;
}

/// The order of axes that all stacks have. Where the sizes of one fit both orders, those of another
/// do not.
Axes axes_of(const std::vector<Found>& found, std::int64_t experts) {
  const auto misfit = [&](Axes axes) -> const Found* {
    for (const Found& each : found) {
      if (each.place.entry->shape != shape_of(each.stack, experts, axes)) return &each;
    }
    return nullptr;
  };
  const Found* wrong = misfit(Axes::rows_first);
  if (wrong == nullptr) return Axes::rows_first;
  if (misfit(Axes::columns_first) == nullptr) return Axes::columns_first;
  throw BadRequest("model: " + wrong->place.file->path().string() + ": tensor " + wrong->block +
                   wrong->stack.name + ": has shape " + shape_text(wrong->place.entry->shape) +
                   ", and config.json makes it " +
                   shape_text(shape_of(wrong->stack, experts, Axes::rows_first)));
}

}  // namespace

void unstack_experts(TensorPlaces& places, const planner::ModelShape& shape) {
  if (!shape.experts || shape.names.experts.stacked) return;
  const planner::ExpertNames& names = shape.names.experts;
  const std::vector<Found> found = found_stacks(places, shape, names);
  if (found.empty()) return;
  const std::int64_t experts = shape.experts->count;
  const Axes axes = axes_of(found, experts);
  for (const auto& [stack, block, place] : found) {
    places.erase(block + stack.name);
    const std::int64_t size = stack.all_rows() * stack.cols;
    for (std::int64_t expert = 0; expert < experts; ++expert) {
      std::int64_t row = 0;
      for (const std::string_view matrix : stack.matrices) {
        TensorPlace part = place;
        part.part = true;
        part.row_step = axes == Axes::rows_first ? stack.cols : 1;
        part.col_step = axes == Axes::rows_first ? 1 : stack.all_rows();
        part.first = expert * size + row * part.row_step;
        places.emplace(block + std::string(names.experts) + std::to_string(expert) + "." +
                           std::string(matrix) + ".weight",
                       part);
        row += stack.rows;
      }
    }
    const std::string newer = block + "mlp.gate.weight";
    if (const auto router = places.find(newer);
        router != places.end() && names.router != "mlp.gate") {
      places.emplace(block + std::string(names.router) + ".weight", router->second);
      places.erase(newer);
    }
  }
}

}  // namespace sluice::engine
