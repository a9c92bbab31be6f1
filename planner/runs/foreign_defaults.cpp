#include "planner/runs/foreign_defaults.hpp"

#include <optional>
#include <string>
#include <vector>

#include "planner/runs/run_config.hpp"

namespace sluice::planner {
namespace {

/// Name of the shipped template that LLaMA-Factory calls "default"; here that is the model
/// folder's own.
constexpr const char* kLlamaFactoryDefault = "llama_factory_default";

struct Default {
  const char* path;
  const char* value;
};

/// transformers' TrainingArguments, with each program's own.
std::vector<Default> defaults_of(Program program) {
  switch (program) {
    case Program::axolotl:
      return {{"optimizer.weight_decay", "0"},
              {"schedule.kind", "cosine"},
              {"epochs", "1"},
              {"seq_len", "512"},
              {"micro_batch", "1"}};
    case Program::trl:
      return {{"optimizer.lr", "2e-5"},    {"optimizer.weight_decay", "0"},
              {"schedule.kind", "linear"}, {"epochs", "3"},
              {"seq_len", "1024"},         {"micro_batch", "8"}};
    default:
      return {{"optimizer.lr", "5e-5"},    {"optimizer.weight_decay", "0"},
              {"schedule.kind", "linear"}, {"epochs", "3"},
              {"seq_len", "2048"},         {"micro_batch", "8"}};
  }
}

std::optional<Program> program_of_file(const std::set<Program>& seen,
                                       const std::set<std::string>& keys) {
  if (keys.contains("base_model")) return Program::axolotl;
  if (!keys.contains("model_name_or_path")) return std::nullopt;
  return seen.contains(Program::trl) ? Program::trl : Program::llama_factory;
}

/// Whether the run states what `path` is a default of.
bool is_stated(const RunConfig& config, const std::string& path) {
  if (path == "epochs") return config.epochs || config.stated.contains("steps");
  if (path == "schedule.kind") {
    return config.stated.contains(path) || config.stated.contains("schedule");
  }
  return config.stated.contains(path);
}

}  // namespace

void fill_foreign_defaults(RunConfig& config, const std::set<Program>& seen,
                           const std::set<std::string>& keys) {
  const auto program = program_of_file(seen, keys);
  if (!program) return;
  if (program == Program::llama_factory && keys.contains("stage") &&
      !keys.contains("finetuning_type")) {
    config.notes.emplace_back(
        "finetuning_type is not stated, for which LLaMA-Factory trains LoRA: all weights are "
        "trained here");
  }
  if (program == Program::llama_factory && config.chat_template == "default") {
    config.chat_template = kLlamaFactoryDefault;
    config.notes.push_back(std::string("template: default is LLaMA-Factory's own (Human: ... "
                                       "Assistant: ...), shipped as ") +
                           kLlamaFactoryDefault + ": leave template out to train as the model was");
  }
  if (program == Program::trl && !keys.contains("assistant_only_loss")) {
    config.notes.emplace_back(
        "assistant_only_loss is not stated, for which TRL learns every token of a conversation: "
        "the assistant's answers alone are learnt here");
  }
  std::string filled;
  for (const auto& [path, value] : defaults_of(*program)) {
    if (is_stated(config, path)) continue;
    set_path(config, path, value);
    config.stated.erase(path);
    filled.append(filled.empty() ? "" : ", ").append(path).append(" ").append(value);
  }
  if (config.batch_size == 0 && !config.gradient_accumulation) config.gradient_accumulation = 1;
  if (!filled.empty()) {
    config.notes.push_back(std::string("defaults of ") + to_string(*program) +
                           " hold for what the file leaves out: " + filled);
  }
}

}  // namespace sluice::planner
