// Trains with given weights on given tokens, for comparison with other implementations:
//   reference_run FOLDER [--gradients]
// FOLDER holds run.yaml and, as raw little-endian files, weights/NAME.f32 (fp32, Hugging Face
// names) and tokens.i32 and targets.i32 (int32 [steps x batch_size, seq_len]). Runs the steps of
// run.yaml under the planner's plan and writes losses.json: step, loss, grad_norm, lr of each. With
// --gradients runs one step and writes gradients/NAME.f32 (fp32, unclipped) too.
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "engine/backends/backend.hpp"
#include "engine/optimizer/master_weights.hpp"
#include "engine/training/session.hpp"
#include "planner/requests/choose_plan.hpp"
#include "sim/error.hpp"

namespace {

using namespace sluice;
namespace fs = std::filesystem;

/// Fills `values` from a file that must hold exactly as many.
template <class Value>
void read_values(const fs::path& path, std::span<Value> values) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  if (!file) throw BadRequest(path.string() + ": cannot be opened");
  if (file.tellg() != static_cast<std::streamoff>(values.size_bytes())) {
    throw BadRequest(path.string() + ": has " + std::to_string(file.tellg()) + " bytes, not " +
                     std::to_string(values.size_bytes()));
  }
  file.seekg(0);
  file.read(reinterpret_cast<char*>(values.data()),
            static_cast<std::streamsize>(values.size_bytes()));
  if (!file) throw EnvironmentError(path.string() + ": cannot be read");
}

void write_bytes(const fs::path& path, std::span<const std::byte> bytes) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file.write(reinterpret_cast<const char*>(bytes.data()),
             static_cast<std::streamsize>(bytes.size()));
  file.close();
  if (!file) throw EnvironmentError(path.string() + ": cannot be written");
}

/// tokens.i32 and targets.i32, sequence by sequence.
class FileTokens : public engine::TokenSource {
 public:
  FileTokens(const fs::path& folder, const planner::Job& job, std::int64_t steps)
      : seq_len_(job.seq_len),
        tokens_(static_cast<std::size_t>(steps * job.tokens())),
        targets_(tokens_.size()) {
    read_values(folder / "tokens.i32", std::span(tokens_));
    read_values(folder / "targets.i32", std::span(targets_));
  }
  void read(std::int64_t position, std::span<std::int32_t> inputs,
            std::span<std::int32_t> targets) override {
    const auto first = static_cast<std::size_t>(position * seq_len_);
    std::memcpy(inputs.data(), tokens_.data() + first, inputs.size_bytes());
    std::memcpy(targets.data(), targets_.data() + first, targets.size_bytes());
  }

 private:
  std::int64_t seq_len_;
  std::vector<std::int32_t> tokens_, targets_;
};

/// Replaces the initial master weights.
void load_weights(const fs::path& folder, const planner::ModelShape& shape,
                  engine::TrainingState& state) {
  for (std::size_t unit = 0; unit < planner::unit_count(shape); ++unit) {
    const planner::UnitTensors tensors = planner::unit_tensors(shape, unit);
    const auto padded = static_cast<std::size_t>(tensors.padded_size);
    std::vector<std::uint16_t> high(padded), low(padded);
    for (const planner::TensorSpec& tensor : tensors.tensors) {
      std::vector<float> values(static_cast<std::size_t>(tensor.size()));
      read_values(folder / "weights" / (tensor.name + ".f32"), std::span(values));
      const auto offset = static_cast<std::size_t>(tensor.offset);
      for (std::size_t i = 0; i < values.size(); ++i) {
        const engine::SplitMaster halves = engine::split_master(values[i]);
        high[offset + i] = halves.high;
        low[offset + i] = halves.low;
      }
    }
    state.write_weights(unit, high, low);
  }
}

/// The gradients that the updates of the step before read: they wait on the host, each in its own
/// bytes, and updates leave them as they are.
void save_gradients(const fs::path& folder, const planner::ModelShape& shape,
                    const engine::Session& session, engine::Device& device) {
  fs::create_directories(folder / "gradients");
  for (const engine::BoundTask& task : session.program().tasks()) {
    if (task.kind != planner::TaskKind::update) continue;
    const auto tensors = planner::unit_tensors(shape, static_cast<std::size_t>(task.unit));
    const engine::BoundAccess& gradient = task.access(planner::Role::gradient);
    std::vector<float> values(static_cast<std::size_t>(tensors.padded_size));
    check(gradient.bytes.count() == static_cast<std::int64_t>(values.size() * sizeof(float)),
          "a gradient is fp32");
    device.read(gradient.data, std::as_writable_bytes(std::span(values)));
    for (const planner::TensorSpec& tensor : tensors.tensors) {
      write_bytes(
          folder / "gradients" / (tensor.name + ".f32"),
          std::as_bytes(std::span(values).subspan(static_cast<std::size_t>(tensor.offset),
                                                  static_cast<std::size_t>(tensor.size()))));
    }
  }
}

planner::PredictedStep plan_of(const planner::Request& planning) {
  auto found = choose_plan(planning, {.remedies = false});
  if (std::holds_alternative<planner::Infeasible>(found)) {
    throw BadRequest("no plan of this job fits this machine: lower batch_size or seq_len");
  }
  return std::move(std::get<planner::ChosenPlan>(found).step());
}

void run(const fs::path& folder, bool gradients) {
  planner::RunConfig config = planner::read_run(folder / "run.yaml");
  if (gradients) {
    if (config.gradient_wire != planner::GradientWire::fp32) {
      throw BadRequest("gradient_wire: --gradients writes fp32 gradients: set it to fp32");
    }
    config.steps = 1;
    planner::set_path(config, "plan.gradients", "host");
  }
  if (config.backend) engine::require_backend(*config.backend);
  const planner::Request planning = planner::resolve(config);
  const planner::Job& job = planning.predictor.job();
  const planner::ResolvedMachine& machine = planning.predictor.machine();
  engine::require_backend(machine.profile.device);
  FileTokens tokens(folder, job, config.steps);
  const planner::PredictedStep step = plan_of(planning);
  auto made = engine::make_device(job, machine, step.graph.layout, step.prediction.plan.threads);
  engine::Device& device = *made;
  const auto learning_rate = [&config](std::int64_t number) {
    return planner::learning_rate(config.schedule, config.optimizer.lr, number, config.steps);
  };
  engine::Session session(job, step.graph, std::move(made), tokens, learning_rate,
                          static_cast<std::uint64_t>(config.seed));
  load_weights(folder, job.model, session.state());
  nlohmann::ordered_json losses = nlohmann::ordered_json::array();
  session.run_to(config.steps, [&](std::int64_t number, const engine::StepResult& result) {
    losses.push_back({{"step", number},
                      {"loss", result.loss},
                      {"grad_norm", result.grad_norm},
                      {"lr", result.lr}});
  });
  if (gradients) save_gradients(folder, job.model, session, device);
  const std::string text = losses.dump(1) + "\n";
  write_bytes(folder / "losses.json", std::as_bytes(std::span(text)));
}

}  // namespace

int main(int count, char** words) {
  const bool gradients = count == 3 && std::string(words[2]) == "--gradients";
  if (count != 2 && !gradients) {
    std::fprintf(stderr, "usage: reference_run FOLDER [--gradients]\n");
    return 2;
  }
  try {
    run(words[1], gradients);
  } catch (const sluice::Error& error) {
    std::fprintf(stderr, "reference_run: error: %s\n", error.what());
    return static_cast<int>(error.code());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "reference_run: error: %s\n", error.what());
    return 4;
  }
  return 0;
}
