// Memories of several ranks that execute one step graph, with texts in place of numbers: what a
// weight is a version of, and which terms a gradient is the sum of, in which order.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "planner/graph/step_graph.hpp"
#include "planner/models/group_tree.hpp"
#include "planner/models/slices.hpp"

namespace sluice::planner::test {

/// Bytes of a cell, which holds one text: a norm block's high halves, or half a block of fp32.
inline constexpr std::int64_t kCell = 2 * kNormBlock;

class RankMemory {
 public:
  RankMemory(const StepGraph& graph, const Job& job)
      : graph_(graph),
        micro_batches_(job.micro_batches() / graph.ranks),
        ranks_(static_cast<std::size_t>(graph.ranks)) {
    for (auto& tensors : ranks_) {
      for (const StepTensor& tensor : graph.tensors) {
        tensors.emplace_back(static_cast<std::size_t>((tensor.bytes.count() + kCell - 1) / kCell));
      }
    }
    for (std::size_t unit = 0; unit < unit_count(job.model); ++unit) add_weights(job, unit);
  }

  /// Text of the high halves of the weights' block `block` after `updates` updates.
  static std::string weights(int unit, std::int64_t block, int updates) {
    return "u" + std::to_string(unit) + "/" + std::to_string(block) + "/v" +
           std::to_string(updates);
  }

  /// What each rank reads in an access: the texts of its cells.
  [[nodiscard]] std::vector<std::string> read(std::size_t rank, const Access& access) const {
    const auto [first, count] = cells(rank, access);
    const auto& tensor =
        ranks_[holder(rank, access.tensor)][static_cast<std::size_t>(access.tensor)];
    return {tensor.begin() + first, tensor.begin() + first + count};
  }

  /// Executes a task on all ranks.
  void run(const StepTask& task) {
    switch (task.kind) {
      case TaskKind::loss:
        add_term(task, Role::tied_gradient);
        [[fallthrough]];
      case TaskKind::backward:
        return add_term(task, Role::gradient);
      case TaskKind::sum_groups:
        return add(task, Role::gradient, Role::later_gradient);
      case TaskKind::sum_ranks:
        return sum_ranks(task);
      case TaskKind::combine:
        return add(task, Role::gradient, Role::tied_gradient);
      case TaskKind::exchange_gradients:
        return exchange(task);
      case TaskKind::gather_weights:
      case TaskKind::gather_norms:
        for (std::size_t i = 0; i < task.accesses.size(); ++i) {
          const bool apart =
              i + 1 < task.accesses.size() && task.accesses[i + 1].role == Role::source;
          gather(task.accesses[apart ? i + 1 : i], task.accesses[i], task.among);
          if (apart) ++i;
        }
        return;
      case TaskKind::update:
        return update(task);
      default:
        if (const Access* source = find(task, Role::source)) copy(*source, task);
    }
  }

  static const Access* find(const StepTask& task, Role role) {
    const auto found = std::ranges::find(task.accesses, role, &Access::role);
    return found == task.accesses.end() ? nullptr : &*found;
  }

 private:
  using Texts = std::vector<std::string>;

  /// First cell that begins in a range, and the number of those that do.
  [[nodiscard]] std::pair<std::int64_t, std::int64_t> cells(std::size_t rank,
                                                            const Access& access) const {
    const std::int64_t range =
        range_of(access, static_cast<std::int64_t>(rank), graph_.ranks, graph_.hosts);
    const Bytes begin = access.offset + access.rank_stride * range;
    const std::int64_t first = (begin.count() + kCell - 1) / kCell;
    const std::int64_t end = ((begin + access.bytes).count() + kCell - 1) / kCell;
    return {first, end - first};
  }
  /// The rank whose memory has the tensor that `rank` accesses: of what the ranks of a host share,
  /// the host's first.
  [[nodiscard]] std::size_t holder(std::size_t rank, TensorIndex tensor) const {
    const bool shared = graph_.tensors[static_cast<std::size_t>(tensor)].arena == Arena::shared;
    const auto local = static_cast<std::size_t>(graph_.ranks / graph_.hosts);
    return shared ? rank / local * local : rank;
  }
  void write(std::size_t rank, const Access& access, const Texts& texts) {
    const auto [first, count] = cells(rank, access);
    auto& tensor = ranks_[holder(rank, access.tensor)][static_cast<std::size_t>(access.tensor)];
    for (std::int64_t i = 0; i < count; ++i) {
      tensor.at(static_cast<std::size_t>(first + i)) = texts.at(static_cast<std::size_t>(i));
    }
  }

  void add_weights(const Job& job, std::size_t unit) {
    const std::string name = unit_name(job.model, unit);
    const std::int64_t slice =
        slice_parameters(unit_padded_size(job.model, unit), graph_.ranks) / kNormBlock;
    for (std::size_t i = 0; i < graph_.tensors.size(); ++i) {
      const StepTensor& tensor = graph_.tensors[i];
      if (!tensor.persistent) continue;
      const bool copy = tensor.name == "weights/" + name;
      const bool shared = tensor.name == "weights.shared/" + name;
      if (!copy && !shared && tensor.name != "master/" + name) continue;
      const bool slices =
          !copy || tensor.bytes < job.weight_element() * (kNormBlock * slice * graph_.ranks);
      for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
        const std::int64_t first = slices ? static_cast<std::int64_t>(rank) * slice : 0;
        const std::int64_t count = slices ? slice : slice * graph_.ranks;
        for (std::int64_t block = 0; block < count; ++block) {
          // A host begins with the slices of its own ranks alone.
          const std::int64_t at = shared ? first + block : block;
          ranks_[holder(rank, TensorIndex(static_cast<std::uint32_t>(i)))][i].at(
              static_cast<std::size_t>(at)) = weights(static_cast<int>(unit), first + block, 0);
        }
      }
    }
  }

  void add_term(const StepTask& task, Role role) {
    const Access* sum = find(task, role);
    if (sum == nullptr) return;
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
      Texts texts = read(rank, *sum);
      const std::string term =
          "m" + std::to_string(static_cast<std::int64_t>(rank) * micro_batches_ + task.micro_batch);
      for (std::string& text : texts) text = task.first ? term : text + " " + term;
      write(rank, *sum, texts);
    }
  }
  static Texts sum_of(const Texts& left, const Texts& right) {
    Texts sum;
    for (std::size_t i = 0; i < left.size(); ++i) {
      sum.push_back("(" + left[i] + "+" + right.at(i) + ")");
    }
    return sum;
  }
  void add(const StepTask& task, Role sum, Role addend) {
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
      write(rank, *find(task, sum),
            sum_of(read(rank, *find(task, sum)), read(rank, *find(task, addend))));
    }
  }

  /// The ranks among which a task of `rank` is, in ascending order.
  [[nodiscard]] std::vector<std::size_t> ranks_among(Among among, std::size_t rank) const {
    const std::size_t local = ranks_.size() / static_cast<std::size_t>(graph_.hosts);
    std::vector<std::size_t> all;
    for (std::size_t each = 0; each < ranks_.size(); ++each) {
      const bool one_host = each / local == rank / local, one_place = each % local == rank % local;
      if (among == Among::host ? one_host : among == Among::all || one_place) all.push_back(each);
    }
    return all;
  }
  /// The accesses to a gradient of an exchange, or of a sum of what it brought.
  static std::vector<Access> owns(const StepTask& task) {
    const auto end = std::ranges::find(task.accesses, Role::received, &Access::role);
    return {task.accesses.begin(), end};
  }

  void exchange(const StepTask& task) {
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
      Texts received;
      for (const Access& own : owns(task)) {
        for (const std::size_t from : ranks_among(task.among, rank)) {
          if (from == rank) continue;
          // The other rank's sum of this rank's slice.
          Access theirs = own;
          theirs.offset += own.rank_stride * (static_cast<std::int64_t>(rank) %
                                              ranges_of(own, graph_.ranks, graph_.hosts));
          theirs.rank_stride = Bytes(0);
          const Texts texts = read(from, theirs);
          received.insert(received.end(), texts.begin(), texts.end());
        }
      }
      write(rank, *find(task, Role::received), received);
    }
  }
  void sum_ranks(const StepTask& task) {
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
      const Texts received = read(rank, *find(task, Role::received));
      auto next = received.begin();
      const std::vector<std::size_t> ranks = ranks_among(task.among, rank);
      const GroupWalk walk(static_cast<std::int64_t>(ranks.size()));
      for (const Access& own : owns(task)) {
        std::vector<Texts> stack;
        for (std::size_t each = 0; each < ranks.size(); ++each) {
          const Texts mine = read(rank, own);
          const auto count = static_cast<std::ptrdiff_t>(mine.size());
          const bool is_own = ranks[each] == rank;
          stack.push_back(is_own ? mine : Texts(next, next + count));
          if (!is_own) next += count;
          for (std::int64_t i = 0; i < walk.adds_after(static_cast<std::int64_t>(each)); ++i) {
            const Texts right = stack.back();
            stack.pop_back();
            stack.back() = sum_of(stack.back(), right);
          }
        }
        const Access* apart = find(task, Role::destination);
        write(rank, apart != nullptr ? *apart : own, stack.front());
      }
    }
  }

  void gather(const Access& source, const Access& access, Among among) {
    for (std::size_t from = 0; from < ranks_.size(); ++from) {
      const Texts texts = read(from, source);
      Access theirs = access;
      theirs.offset += access.rank_stride * range_of(access, static_cast<std::int64_t>(from),
                                                     graph_.ranks, graph_.hosts);
      theirs.rank_stride = Bytes(0);
      for (const std::size_t rank : ranks_among(among, from)) write(rank, theirs, texts);
    }
  }

  void update(const StepTask& task) {
    const Access& high = *find(task, Role::weights);
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
      Texts texts = read(rank, high);
      for (std::string& text : texts) {
        const auto version = text.find("/v") + 2;
        text = text.substr(0, version) + std::to_string(std::stoi(text.substr(version)) + 1);
      }
      write(rank, high, texts);
    }
  }

  void copy(const Access& source, const StepTask& task) {
    // Both ranges begin at a cell of their tensors, or at the same distance from one.
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
      write(rank, *find(task, Role::destination), read(rank, source));
    }
  }

  const StepGraph& graph_;
  std::int64_t micro_batches_;
  std::vector<std::vector<Texts>> ranks_;  ///< Texts by rank, tensor and cell.
};

/// An order of the graph's tasks that its lanes and edges allow, drawn with `seed`.
inline std::vector<std::size_t> random_order(const StepGraph& graph, std::uint64_t seed) {
  std::mt19937_64 draw(seed * 77 + 5);
  std::map<std::size_t, std::vector<std::size_t>> lanes;  // Tasks of each lane, last one first.
  for (std::size_t i = graph.tasks.size(); i-- > 0;) {
    lanes[static_cast<std::size_t>(graph.tasks[i].lane)].push_back(i);
  }
  std::vector<bool> done(graph.tasks.size(), false);
  std::vector<std::size_t> order;
  while (order.size() < graph.tasks.size()) {
    std::vector<std::vector<std::size_t>*> ready;
    for (auto& [lane, tasks] : lanes) {
      if (tasks.empty()) continue;
      const auto& after = graph.graph.tasks()[tasks.back()].after;
      if (std::ranges::all_of(after, [&](sim::TaskId each) { return done[sim::index(each)]; })) {
        ready.push_back(&tasks);
      }
    }
    std::vector<std::size_t>& lane = *ready.at(draw() % ready.size());
    order.push_back(lane.back());
    done[lane.back()] = true;
    lane.pop_back();
  }
  return order;
}

}  // namespace sluice::planner::test
