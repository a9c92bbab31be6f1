#include "planner/forward_graph.hpp"

#include <algorithm>
#include <optional>

#include "planner/buffer_schedule.hpp"
#include "planner/graph_writer.hpp"
#include "planner/layout.hpp"
#include "planner/record.hpp"
#include "sim/error.hpp"

namespace sluice::planner {
namespace {

/// Where a unit's weights lie and how they get to the device.
struct ForwardUnit {
  std::string name;
  Bytes bytes{0};
  std::optional<TensorIndex> host, device;  ///< `device`: resident, or a copy outside the ring.
  std::optional<std::int64_t> slot;
  bool loads = false;
};

class ForwardEmitter {
 public:
  ForwardEmitter(GraphWriter& writer, const Job& job, ForwardGoal goal, const ForwardPlan& plan)
      : writer_(writer), job_(job), goal_(goal), plan_(plan), record_(block_record(job)) {
    check(plan.weights.size() == unit_count(job.model), "one tier a unit");
    add_units();
    add_buffers();
  }

  sim::TaskId emit(int step) {
    writer_.begin_step(step);
    emit_tokens();
    const std::size_t before = ends_.size();
    const auto depth = static_cast<std::size_t>(depth_);
    for (std::size_t unit = 0; unit < std::min(depth, units_.size()); ++unit) {
      emit_load(unit, before);
    }
    for (std::size_t unit = 0; unit < units_.size(); ++unit) {
      if (unit + depth < units_.size()) emit_load(unit + depth, before);
      emit_compute(unit);
    }
    const TensorIndex result = goal_ == ForwardGoal::loss ? *loss_sum_ : *logits_;
    last_ = writer_.add_grads({TaskKind::grads, LaneKind::compute, "grads"},
                              {whole(result_role(), result, Mode::read)});
    return *last_;
  }

 private:
  [[nodiscard]] bool loss() const { return goal_ == ForwardGoal::loss; }
  [[nodiscard]] Role result_role() const { return loss() ? Role::loss_sum : Role::logits; }
  [[nodiscard]] std::int64_t micro_batches() const { return loss() ? job_.micro_batches() : 1; }
  [[nodiscard]] std::size_t head() const { return units_.size() - 1; }
  [[nodiscard]] bool is_block(std::size_t unit) const { return unit > 0 && unit < head(); }

  void add_units() {
    std::vector<WeightUse> streamed;
    for (std::size_t index = 0; index < plan_.weights.size(); ++index) {
      ForwardUnit unit;
      unit.name = unit_name(job_.model, index);
      unit.bytes = job_.weight_element() * unit_padded_size(job_.model, index);
      const bool ends = index == 0 || index + 1 == plan_.weights.size();
      if (plan_.weights[index] == Tier::hbm) {
        unit.device = writer_.add_tensor(
            {Arena::device, "weights/" + unit.name, unit.bytes, "weights", true});
      } else {
        unit.host =
            writer_.add_tensor({Arena::host, "master/" + unit.name, unit.bytes, "weights", true});
        unit.loads = true;
        if (ends) {
          unit.device =
              writer_.add_tensor({Arena::device, "weights/" + unit.name, unit.bytes, "weights"});
        } else {
          streamed.push_back({static_cast<std::int64_t>(index)});
          largest_ = std::max(largest_, unit.bytes);
        }
      }
      units_.push_back(std::move(unit));
    }
    // A slot that nothing ever occupies would only take memory.
    const std::int64_t slots = std::min(plan_.weight_buffers, std::ssize(streamed));
    depth_ = slots > 0 ? std::min(plan_.prefetch_depth, slots - 1) : plan_.prefetch_depth;
    if (slots == 0) return;
    for (std::int64_t i = 0; i < slots; ++i) {
      ring_.push_back(writer_.add_tensor(
          {Arena::device, "weight_buffer." + std::to_string(i), largest_, "weights"}));
    }
    const auto assigned = assign_slots(streamed, slots, depth_);
    for (std::size_t i = 0; i < streamed.size(); ++i) {
      units_[static_cast<std::size_t>(streamed[i].block)].slot = assigned[i].slot;
    }
  }

  void add_buffers() {
    const Bytes tokens(4 * (loss() ? 2 * job_.tokens() : job_.micro_tokens()));
    host_tokens_ = writer_.add_tensor({Arena::host, "tokens.host", tokens, "tokens"});
    tokens_ = writer_.add_tensor({Arena::device, "tokens", tokens, "tokens"});
    workspace_ = writer_.add_tensor(
        {Arena::device, "workspace", workspace_bytes(job_, writer_.device()), "workspace"});
    full_record_ = writer_.add_tensor(
        {Arena::device, "full_record", record_.all_bytes - record_.input_bytes, "activations"});
    for (std::int64_t m = 0; m < micro_batches(); ++m) {
      for (std::vector<TensorIndex>& stream : streams_) {
        const std::string name = std::string("stream.") + (&stream == streams_ ? "0" : "1");
        stream.push_back(writer_.add_tensor(
            {Arena::device, name + "/m" + std::to_string(m), record_.input_bytes, "activations"}));
      }
    }
    if (loss()) {
      loss_sum_ = writer_.add_tensor(
          {Arena::host, "loss_sum", Bytes(8 * job_.micro_batches()), "workspace"});
      return;
    }
    logits_ = writer_.add_tensor({Arena::host, "logits", Bytes(4 * job_.model.vocab), "workspace"});
    const Bytes cache =
        job_.compute_element() * (2 * job_.seq_len * job_.model.kv_heads * job_.model.head_dim);
    for (std::size_t unit = 1; unit < head(); ++unit) {
      caches_.push_back(writer_.add_tensor(
          {Arena::device, "key_values/" + units_[unit].name, cache, "keys and values", true}));
    }
  }

  void emit_tokens() {
    const Bytes bytes = writer_.graph().tensors[static_cast<std::size_t>(tokens_)].bytes;
    // The next token is chosen from the logits of the pass before.
    const auto after = loss() || !last_ ? std::vector<sim::TaskId>{} : std::vector{*last_};
    writer_.add_data({TaskKind::data, LaneKind::launch, "data"}, {host_tokens_, Bytes(0), bytes},
                     after);
    writer_.add_copy({TaskKind::load_tokens, LaneKind::h2d, "tokens"},
                     {host_tokens_, Bytes(0), bytes}, {tokens_, Bytes(0), bytes}, Bytes(0));
  }

  void emit_load(std::size_t index, std::size_t before) {
    const ForwardUnit& unit = units_[index];
    if (!unit.loads) return;
    // Load of use i may run once use i - depth - 1 is over, in the previous pass if need be.
    std::vector<sim::TaskId> after;
    const std::size_t ahead = static_cast<std::size_t>(depth_) + 1;
    if (before + index >= ahead) after.push_back(ends_[before + index - ahead]);
    writer_.add_copy(
        {TaskKind::load_weights, LaneKind::h2d, "load/" + unit.name, 0, static_cast<int>(index)},
        {*unit.host, Bytes(0), unit.bytes}, {weights(index), Bytes(0), unit.bytes},
        plan_.copy_chunk, after);
  }

  void emit_compute(std::size_t index) {
    const Pass pass = index == 0        ? Pass::embed_forward
                      : index == head() ? Pass::head_forward
                                        : Pass::block_forward;
    const char* name = index == head() ? (loss() ? "loss" : "logits") : "fwd";
    const int unit = static_cast<int>(index);
    const std::int64_t kernels =
        work_of(job_, pass, is_block(index) ? 1 : index).kernels * micro_batches();
    const sim::TaskId launch =
        writer_.add_launch({TaskKind::launch, LaneKind::launch,
                            std::string("launch/") + name + "/" + units_[index].name, 0, unit},
                           kernels);
    for (std::int64_t m = 0; m < micro_batches(); ++m) {
      // Of a part of a sequence the cost depends on where it stands.
      const std::int64_t number = loss() ? m : plan_.position;
      const TaskPlace place{index == head() ? TaskKind::loss : TaskKind::forward,
                            LaneKind::compute,
                            std::string(name) + "/" + units_[index].name + "/m" + std::to_string(m),
                            0,
                            unit,
                            static_cast<int>(number)};
      const sim::TaskId task =
          writer_.add_compute(place, pass, accesses(index, m),
                              m == 0 ? std::vector{launch} : std::vector<sim::TaskId>{});
      if (m + 1 == micro_batches()) ends_.push_back(task);
    }
  }

  [[nodiscard]] std::vector<Access> accesses(std::size_t unit, std::int64_t m) const {
    const auto number = static_cast<std::size_t>(m);
    std::vector<Access> list{
        {Role::weights, weights(unit), Bytes(0), units_[unit].bytes, Mode::read}};
    if (unit > 0) list.push_back(whole(Role::input, streams_[unit % 2][number], Mode::read));
    if (unit == 0) list.push_back(tokens_access(m, false));
    if (is_block(unit)) {
      list.push_back(whole(Role::full_record, full_record_, Mode::write));
      if (job_.attention == AttentionSpan::document) list.push_back(tokens_access(m, false));
      if (!loss()) list.push_back(whole(Role::key_values, caches_[unit - 1], Mode::update));
    }
    if (unit < head()) {
      list.push_back(whole(Role::next_input, streams_[(unit + 1) % 2][number], Mode::write));
    } else {
      if (job_.model.tied_head) {
        list.push_back({Role::tied_weights, weights(0), Bytes(0), units_[0].bytes, Mode::read});
      }
      if (loss()) {
        list.push_back(tokens_access(m, true));
        list.push_back({Role::loss_sum, *loss_sum_, Bytes(8 * m), Bytes(8), Mode::write});
      } else {
        list.push_back(whole(Role::logits, *logits_, Mode::write));
      }
    }
    if (unit > 0) list.push_back(whole(Role::workspace, workspace_, Mode::write));
    return list;
  }

  [[nodiscard]] Access tokens_access(std::int64_t m, bool targets) const {
    const Bytes bytes(4 * job_.micro_tokens());
    const Bytes start(4 * job_.tokens() * (targets ? 1 : 0));
    return {Role::tokens, tokens_, start + bytes * m, bytes, Mode::read};
  }

  [[nodiscard]] Access whole(Role role, TensorIndex tensor, Mode mode) const {
    const StepTensor& stored = writer_.graph().tensors[static_cast<std::size_t>(tensor)];
    return {role, tensor, Bytes(0), stored.bytes, mode};
  }

  [[nodiscard]] TensorIndex weights(std::size_t unit) const {
    const ForwardUnit& each = units_[unit];
    return each.slot ? ring_[static_cast<std::size_t>(*each.slot)] : each.device.value();
  }

  GraphWriter& writer_;
  const Job& job_;
  ForwardGoal goal_;
  const ForwardPlan& plan_;
  BlockRecord record_;
  std::vector<ForwardUnit> units_;
  std::vector<TensorIndex> ring_, caches_;
  Bytes largest_{0};
  std::int64_t depth_ = 0;
  TensorIndex host_tokens_{}, tokens_{}, workspace_{}, full_record_{};
  std::vector<TensorIndex> streams_[2];  ///< Inputs by unit parity and micro-batch.
  std::optional<TensorIndex> loss_sum_, logits_;
  std::vector<sim::TaskId> ends_;  ///< Last compute task of every unit so far, all passes.
  std::optional<sim::TaskId> last_;
};

}  // namespace

StepGraph build_forward_graph(const Job& job, ForwardGoal goal, const ForwardPlan& plan,
                              const CostModel& costs) {
  validate(job);
  check((goal == ForwardGoal::next_token) == job.sequence_chunk.has_value(),
        "a sequence comes in parts where its next token is asked for");
  constexpr std::int64_t kNoOptimizer = 0;
  GraphWriter writer(job, costs, kNoOptimizer);
  ForwardEmitter emitter(writer, job, goal, plan);
  emitter.emit(1);
  const sim::TaskId second = emitter.emit(2);
  const sim::TaskId third = emitter.emit(3);
  StepGraph result = std::move(writer.graph());
  result.graph.set_period({second, third});
  result.layout = lay_out(result);
  return result;
}

}  // namespace sluice::planner
