#include "planner/graph/forward_graph.hpp"

#include <algorithm>
#include <optional>

#include "planner/graph/forward_tensors.hpp"
#include "planner/graph/graph_writer.hpp"
#include "planner/models/unit_classes.hpp"
#include "sim/error.hpp"

namespace sluice::planner {
namespace {

class ForwardEmitter {
 public:
  ForwardEmitter(GraphWriter& writer, const Job& job, ForwardGoal goal, const ForwardPlan& plan)
      : writer_(writer), job_(job), goal_(goal), plan_(plan), tensors_(writer, job, goal, plan) {}

  sim::TaskId emit(int step) {
    writer_.begin_step(step);
    emit_tokens();
    const std::size_t before = ends_.size();
    const auto depth = static_cast<std::size_t>(tensors_.depth);
    for (std::size_t unit = 0; unit < std::min(depth, tensors_.units.size()); ++unit) {
      emit_load(unit, before);
    }
    for (std::size_t unit = 0; unit < tensors_.units.size(); ++unit) {
      if (unit + depth < tensors_.units.size()) emit_load(unit + depth, before);
      emit_compute(unit);
    }
    const TensorIndex result = goal_ == ForwardGoal::loss ? *tensors_.loss_sum : *tensors_.logits;
    last_ = writer_.add_grads({TaskKind::grads, LaneKind::compute, "grads"},
                              {whole(result_role(), result, Mode::read)});
    return *last_;
  }

 private:
  [[nodiscard]] bool loss() const { return goal_ == ForwardGoal::loss; }
  [[nodiscard]] Role result_role() const { return loss() ? Role::loss_sum : Role::logits; }
  [[nodiscard]] std::int64_t micro_batches() const { return loss() ? job_.micro_batches() : 1; }
  [[nodiscard]] std::size_t head() const { return tensors_.units.size() - 1; }
  [[nodiscard]] bool is_block(std::size_t unit) const { return unit > 0 && unit < head(); }

  void emit_tokens() {
    const Bytes bytes = writer_.graph().tensors[static_cast<std::size_t>(tensors_.tokens)].bytes;
    // The next token is chosen from the logits of the pass before.
    const auto after = loss() || !last_ ? std::vector<sim::TaskId>{} : std::vector{*last_};
    writer_.add_data({TaskKind::data, LaneKind::launch, "data"},
                     {tensors_.host_tokens, Bytes(0), bytes}, after);
    writer_.add_copy({TaskKind::load_tokens, LaneKind::h2d, "tokens"},
                     {tensors_.host_tokens, Bytes(0), bytes}, {tensors_.tokens, Bytes(0), bytes},
                     Bytes(0));
  }

  void emit_load(std::size_t index, std::size_t before) {
    const ForwardUnit& unit = tensors_.units[index];
    if (!unit.loads) return;
    // Load of use i may run once use i - depth - 1 is over, in the previous pass if need be.
    std::vector<sim::TaskId> after;
    const std::size_t ahead = static_cast<std::size_t>(tensors_.depth) + 1;
    if (before + index >= ahead) after.push_back(ends_[before + index - ahead]);
    const TaskPlace place{TaskKind::load_weights, LaneKind::h2d, "load/" + unit.name, 0,
                          static_cast<int>(index)};
    if (!unit.routed) {
      writer_.add_copy(place, {*unit.host, Bytes(0), unit.bytes},
                       {tensors_.weights(index), Bytes(0), unit.bytes}, plan_.copy_chunk, after);
      return;
    }
    const Bytes dense = ForwardTensors::kPlaneElement * unit.dense;
    int chunks = 0;
    for (const Bytes start : unit.planes()) {
      chunks +=
          writer_
              .add_copy(place, {*unit.host, start, dense}, {tensors_.weights(index), start, dense},
                        plan_.copy_chunk, after, chunks)
              .chunks;
    }
  }

  /// Emits attention and router, then the loads of the experts that the router chose.
  void emit_route(std::size_t index, sim::TaskId launch) {
    const ForwardUnit& unit = tensors_.units[index];
    const ForwardTensors::RoutedExperts& experts = *tensors_.experts;
    const int number = static_cast<int>(index);
    const TaskPlace place{TaskKind::route,
                          LaneKind::compute,
                          "route/" + unit.name,
                          0,
                          number,
                          static_cast<int>(plan_.position)};
    std::vector<Access> list = block_accesses(index, 0);
    list.push_back(whole(Role::routes, experts.routes, Mode::write));
    list.push_back(whole(Role::workspace, tensors_.workspace, Mode::write));
    writer_.add_compute(place, Pass::block_route, std::move(list), {launch});
    const Bytes expert = ForwardTensors::kPlaneElement * experts.stride;
    const Bytes all = expert * experts.count;
    int plane = 0;
    for (const Bytes start : unit.planes()) {
      const Bytes first = start + ForwardTensors::kPlaneElement * unit.dense;
      writer_.add_selected_copy(
          {TaskKind::load_experts, LaneKind::h2d,
           "load_experts/" + unit.name + "/c" + std::to_string(plane++), 0, number},
          {*unit.host, first, all}, {tensors_.weights(index), first, all},
          expert * experts.expected, whole(Role::routes, tensors_.experts->routes, Mode::read));
    }
  }

  void emit_compute(std::size_t index) {
    const bool routed = tensors_.units[index].routed;
    const Pass pass = index == 0        ? Pass::embed_forward
                      : index == head() ? Pass::head_forward
                      : routed          ? Pass::block_experts
                                        : Pass::block_forward;
    const char* name = index == head() ? (loss() ? "loss" : "logits") : "fwd";
    const int unit = static_cast<int>(index);
    const Pass launched = routed ? Pass::block_forward : pass;
    const std::int64_t kernels =
        work_of(job_, launched, class_representative(job_.model, index)).kernels * micro_batches();
    const sim::TaskId launch = writer_.add_launch(
        {TaskKind::launch, LaneKind::launch,
         std::string("launch/") + name + "/" + tensors_.units[index].name, 0, unit},
        kernels);
    if (routed) emit_route(index, launch);
    for (std::int64_t m = 0; m < micro_batches(); ++m) {
      // The cost of a part of a sequence depends on its position.
      const std::int64_t number = loss() ? m : plan_.position;
      const TaskPlace place{
          index == head() ? TaskKind::loss : TaskKind::forward,
          LaneKind::compute,
          std::string(name) + "/" + tensors_.units[index].name + "/m" + std::to_string(m),
          0,
          unit,
          static_cast<int>(number)};
      const sim::TaskId task =
          writer_.add_compute(place, pass, accesses(index, m),
                              m == 0 ? std::vector{launch} : std::vector<sim::TaskId>{});
      if (m + 1 == micro_batches()) ends_.push_back(task);
    }
  }

  [[nodiscard]] Access weights_access(std::size_t unit) const {
    return {Role::weights, tensors_.weights(unit), Bytes(0), tensors_.units[unit].bytes,
            Mode::read};
  }

  /// Accesses that attention of a block and micro-batch makes.
  [[nodiscard]] std::vector<Access> block_accesses(std::size_t unit, std::int64_t m) const {
    const auto number = static_cast<std::size_t>(m);
    std::vector<Access> list{weights_access(unit),
                             whole(Role::input, tensors_.streams[unit % 2][number], Mode::read),
                             whole(Role::full_record, tensors_.full_record, Mode::write)};
    if (job_.attention == AttentionSpan::document) list.push_back(tokens_access(m, false));
    if (!loss())
      list.push_back(whole(Role::key_values, tensors_.key_values[unit - 1], Mode::update));
    return list;
  }

  [[nodiscard]] std::vector<Access> accesses(std::size_t unit, std::int64_t m) const {
    const auto number = static_cast<std::size_t>(m);
    std::vector<Access> list;
    if (tensors_.units[unit].routed) {
      list = {weights_access(unit),
              whole(Role::input, tensors_.streams[unit % 2][number], Mode::read),
              whole(Role::full_record, tensors_.full_record, Mode::update),
              whole(Role::routes, tensors_.experts->routes, Mode::read)};
    } else if (is_block(unit)) {
      list = block_accesses(unit, m);
    } else {
      list = {weights_access(unit)};
      list.push_back(unit == 0
                         ? tokens_access(m, false)
                         : whole(Role::input, tensors_.streams[unit % 2][number], Mode::read));
    }
    if (unit < head()) {
      list.push_back(
          whole(Role::next_input, tensors_.streams[(unit + 1) % 2][number], Mode::write));
    } else {
      if (job_.model.tied_head) {
        list.push_back({Role::tied_weights, tensors_.weights(0), Bytes(0), tensors_.units[0].bytes,
                        Mode::read});
      }
      if (loss()) {
        list.push_back(tokens_access(m, true));
        list.push_back({Role::loss_sum, *tensors_.loss_sum, Bytes(8 * m), Bytes(8), Mode::write});
      } else {
        list.push_back(whole(Role::logits, *tensors_.logits, Mode::write));
      }
    }
    if (unit > 0) list.push_back(whole(Role::workspace, tensors_.workspace, Mode::write));
    return list;
  }

  [[nodiscard]] Access tokens_access(std::int64_t m, bool targets) const {
    const Bytes bytes(4 * job_.micro_tokens());
    const Bytes start(4 * job_.tokens() * (targets ? 1 : 0));
    return {Role::tokens, tensors_.tokens, start + bytes * m, bytes, Mode::read};
  }

  [[nodiscard]] Access whole(Role role, TensorIndex tensor, Mode mode) const {
    const StepTensor& stored = writer_.graph().tensors[static_cast<std::size_t>(tensor)];
    return {role, tensor, Bytes(0), stored.bytes, mode};
  }

  GraphWriter& writer_;
  const Job& job_;
  ForwardGoal goal_;
  const ForwardPlan& plan_;
  ForwardTensors tensors_;
  std::vector<sim::TaskId> ends_;  ///< Last compute task of every unit so far, over all passes.
  std::optional<sim::TaskId> last_;
};

}  // namespace

StepGraph write_forward_graph(const Job& job, ForwardGoal goal, const ForwardPlan& plan,
                              const CostModel& costs) {
  validate(job);
  check((goal == ForwardGoal::next_token) == job.sequence_chunk.has_value(),
        "a sequence comes in parts where its next token is asked for");
  constexpr std::int64_t kNoOptimizer = 0;
  GraphWriter writer(job, costs, kNoOptimizer);
  ForwardEmitter emitter(writer, job, goal, plan);
  return three_steps(writer, emitter);
}

}  // namespace sluice::planner
