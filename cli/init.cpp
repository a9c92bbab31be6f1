// `sluice init`: writes a commented RUN.yaml that predict, plan and train accept.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <sstream>

#include "cli/shown/plan_choices_table.hpp"
#include "cli/shown/prediction_table.hpp"
#include "cli/shown/progress_line.hpp"
#include "cli/words/parse_run.hpp"
#include "planner/catalogue/catalogue.hpp"
#include "planner/catalogue/store.hpp"
#include "planner/files/whole_file.hpp"
#include "planner/policies/run_job.hpp"
#include "planner/requests/run_devices.hpp"
#include "planner/runs/data_file.hpp"
#include "profiler/training/traced_steps.hpp"
#include "sim/error.hpp"

namespace sluice::cli {
namespace {

struct Comment {
  const char* key;
  const char* text;
};
constexpr Comment kComments[] = {
    {"model", "A catalogue name (sluice models), a config.json, a model folder or a cached HF id."},
    {"data", "Text, or JSONL examples, to train on; the last part is kept for validation."},
    {"data_format",
     "auto, text, jsonl, alpaca, sharegpt, messages or tokens (ids in .npy or .bin)."},
    {"packing", "How documents become sequences: auto, stream, documents or off."},
    {"seq_len", "Tokens of a sequence, and sequences of an optimizer step."},
    {"micro_batch",
     "Sequences that go through a layer at once; changes bits, never the loss's "
     "meaning."},
    {"groups", "Groups of micro-batches whose gradients are added up by a fixed tree."},
    {"devices", "GPUs of one host that share each step."},
    {"loss_chunk", "Tokens whose logits exist at one time."},
    {"mlp_chunk", "Tokens that pass an MLP at one time: matters to micro-batches of more."},
    {"router_aux_loss_coef", "Weight of the loss that evens out the tokens of experts, or off."},
    {"steps", "Optimizer steps, and the seed of weights and data order."},
    {"compute", "bf16, fp32, fp8 or fp8-tensorwise; weights, m and v are kept at 32 bits in each."},
    {"gradient_wire", "Type in which gradients cross the link: fp32 or bf16."},
    {"optimizer", "AdamW; clip is the global gradient norm, or off."},
    {"schedule",
     "kind: constant, linear, cosine or wsd (constant, then down in the last decay_fraction of the "
     "steps), after warmup_steps."},
    {"evaluate_every", "Steps between evaluations."},
    {"save_every",
     "Steps between checkpoints (0: one at the end), written while training goes on where host "
     "memory holds a copy of the state. Of them the newest keep_last stay, and with keep_best the "
     "one of the lowest validation loss."},
    {"machine", "A catalogue name (sluice machines), a profile file, or here."},
    {"limits", "What the run may use; left out, what the machine has."},
    {"residency", "auto, or host to keep weights, m and v out of device memory."},
};

std::string commented(const planner::RunConfig& config) {
  std::istringstream lines(to_yaml(config));
  std::string text =
      "# A run of Sluice: try `sluice predict RUN.yaml`, then `sluice train "
      "RUN.yaml`.\n# Any key can be overridden on the command line: "
      "optimizer.lr=3e-4\n";
  for (std::string line; std::getline(lines, line);) {
    for (const Comment& comment : kComments) {
      if (line.starts_with(std::string(comment.key) + ":")) {
        text.append("\n# ").append(comment.text).append("\n");
      }
    }
    text.append(line).append("\n");
  }
  if (config.limits == planner::Limits{}) {
    text +=
        "\n# What the run may use; left out, what the machine has.\n# limits:\n#   hbm: 24 GiB\n"
        "#   host: 64 GiB\n#   disk: 200 GiB\n";
  }
  if (!config.threads) text += "\n# Threads of the CPU optimizer.\n# threads: 8\n";
  if (!config.plan)
    text += "\n# A plan to use as it is (sluice plan -o plan.json).\n# plan: plan.json\n";
  if (!config.out) text += "\n# Run folder.\n# out: runs/first\n";
  return text;
}

/// Fills in what a real training run needs and the user did not state: a warm-up, a decay of the
/// learning rate, and checkpoints such that a crash loses at most a tenth of the run, or the few
/// steps that a run needs to reach its full speed.
void fill_recipe(planner::RunConfig& config) {
  const planner::RunConfig untouched;
  if (config.schedule == untouched.schedule) {
    config.schedule.kind = planner::Schedule::Kind::cosine;
    config.schedule.warmup_steps = std::max<std::int64_t>(1, config.steps / 20);
    config.schedule.final_fraction = 0.1;
  }
  const std::int64_t often =
      std::max(std::min(config.steps, profiler::kUnbrokenSteps), config.steps / 10);
  if (!config.evaluate_every && !config.evaluate_cadence) config.evaluate_every = often;
  if (config.save_every == 0 && !config.save_cadence) config.save_every = often;
  if (!config.keep_last) {
    config.keep_last = 2;
    config.keep_best = true;
  }
}

/// Fills in sizes that the user did not state: those typical for training a model of this size on
/// one device.
void fill_sizes(planner::RunConfig& config) {
  constexpr std::int64_t kSmall = 100'000'000;
  const bool small = parameter_count(planner::find_model(config.model)) < kSmall;
  if (config.seq_len == 0) config.seq_len = small ? 256 : 1024;
  if (config.batch_size == 0) config.batch_size = small ? 8 : 32;
}

/// Refuses data that are plainly not there: a missing file, an empty folder. A glob, an id of the
/// hub and a name in a registry are looked up when they are read.
void require_data(const planner::RunConfig& config) {
  namespace fs = std::filesystem;
  for (const planner::DataEntry& each : config.data) {
    const fs::path& data = each.name;
    if (config.dataset_dir && fs::is_regular_file(*config.dataset_dir / data)) continue;
    if (fs::is_directory(data)) {
      const bool any = std::ranges::any_of(fs::recursive_directory_iterator(data),
                                           [](const auto& file) { return file.is_regular_file(); });
      if (!any) throw BadRequest("data: " + data.string() + " holds no data file");
      continue;
    }
    const bool looked_up = config.dataset_dir ||
                           data.string().find_first_of("*?[") != std::string::npos ||
                           data.string() != data.filename().string();
    if (!looked_up && !fs::exists(data)) {
      throw BadRequest("data: there is no file " + data.string());
    }
    if (fs::exists(data)) planner::require_data_file(data);
  }
}

}  // namespace

int run_init(const Arguments& arguments) {
  using Takes = planner::VerbFlag::Takes;
  planner::RunArguments run = parse_run(
      arguments, "sluice init --model M --data FILE [-o RUN.yaml] [run flags]",
      {{"-o", Takes::value, "where to write (RUN.yaml)"},
       {"--free", Takes::value, "choose micro_batch,loss_chunk by planning for --machine"},
       {"--force", Takes::nothing, "replace the file if there is one"}});
  planner::RunConfig& config = run.config;
  if (config.model.empty()) throw BadRequest("--model is missing: sluice models lists the names");
  if (config.data.empty()) throw BadRequest("--data is missing: name a text file to train on");
  require_data(config);
  fill_sizes(config);
  fill_recipe(config);
  (void)to_job(config);
  const std::filesystem::path path = run.value("-o").value_or("RUN.yaml");
  if (std::filesystem::exists(path) && !run.has("--force")) {
    throw BadRequest("-o: " + path.string() + " exists already: name another, or give --force");
  }
  if (const auto free = run.value("--free")) {
    planner::require_one_device(config, "--free");
    const ProgressLine progress;
    const planner::ChosenSizes chosen =
        planner::choose_sizes(planner::resolve(config), planner::parse_free_sizes(*free),
                              [&](const std::string& what) { progress.show(what); });
    progress.show("");
    print(sizes_table(chosen, config));
    config = chosen.config;
  }
  planner::write_whole_file(path, commented(config));
  std::printf("wrote %s\n", path.c_str());
  return 0;
}

}  // namespace sluice::cli
