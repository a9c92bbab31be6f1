#include "planner/runs/foreign_keys.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include "planner/runs/run_config.hpp"
#include "planner/runs/values.hpp"
#include "sim/error.hpp"

namespace sluice::planner {
namespace {

using Text = const std::string&;

struct KeyTable {
  Program program;
  std::span<const ForeignKey> keys;
};

const std::array<KeyTable, 5>& key_tables() {
  static const std::array<KeyTable, 5> kTables = {{{Program::transformers, transformers_keys()},
                                                   {Program::llama_factory, llama_factory_keys()},
                                                   {Program::axolotl, axolotl_keys()},
                                                   {Program::trl, trl_keys()},
                                                   {Program::torchtune, torchtune_keys()}}};
  return kTables;
}

struct FoundKey {
  Program program;
  const ForeignKey* key;
};

bool matches(std::string_view pattern, Text key) {
  if (!pattern.ends_with('*')) return key == pattern;
  return key.starts_with(pattern.substr(0, pattern.size() - 1));
}

/// Whole names hold over beginnings of names, whichever table they stand in.
std::optional<FoundKey> find_key(Text key) {
  for (const bool whole : {true, false}) {
    for (const KeyTable& table : key_tables()) {
      for (const ForeignKey& each : table.keys) {
        const bool named = !std::string_view(each.key).ends_with('*');
        if (named == whole && matches(each.key, key)) return FoundKey{table.program, &each};
      }
    }
  }
  return std::nullopt;
}

/// Whether a value switches off whatever its key is for.
bool is_off(Text value) {
  return says_off(value) || value == "0" || value == "0.0" || value == "[]" || value == "{}";
}

}  // namespace

bool set_foreign_key(RunConfig& config, const std::string& key, const std::string& value) {
  const auto found = find_key(key);
  if (!found) return false;
  const ForeignKey& known = *found->key;
  switch (known.kind) {
    case ForeignKey::Kind::alias:
      set_path(config, known.text, value);
      break;
    case ForeignKey::Kind::rule:
      known.set(config, value, key);
      break;
    case ForeignKey::Kind::moot:
      if (!is_off(value)) config.notes.push_back(key + " is ignored: " + known.text);
      break;
    case ForeignKey::Kind::refused:
      if (!is_off(value)) {
        throw BadRequest(key + ": is not done here (a key of " + to_string(found->program) +
                         "): " + known.text);
      }
      break;
    case ForeignKey::Kind::adapter:
      config.adapter[key] = is_off(value) ? "" : value;
      break;
  }
  return true;
}

std::optional<Program> program_of(const std::string& key) {
  const auto found = find_key(key);
  return found ? std::optional(found->program) : std::nullopt;
}

std::string our_path(const std::string& key) {
  const auto found = find_key(key);
  return found && found->key->kind == ForeignKey::Kind::alias ? found->key->text : key;
}

int rank_of(const std::string& key) {
  // Steps hold over epochs, a plan over a policy, and "no" over the steps between; a batch of one
  // device makes a step where neither sequences nor micro-batches of a step are stated.
  static constexpr std::array kAfter = {"steps",
                                        "max_steps",
                                        "plan",
                                        "per_device_train_batch_size",
                                        "eval_strategy",
                                        "save_strategy",
                                        "evaluation_strategy",
                                        "micro_batch_size",
                                        "per_gpu_train_batch_size",
                                        "lr_scheduler_type",
                                        "lr_scheduler",
                                        "chat_template_jinja"};
  static constexpr std::array kLast = {
      "lr_scheduler_kwargs", "cosine_min_lr_ratio", "interleave_probs", "dataset_config",
      "dataset_train_split", "dataset_text_field",  "datasets"};
  const auto has = [&key](const auto& keys) { return std::ranges::find(keys, key) != keys.end(); };
  // Whether questions are learnt is a matter of the data sets' kinds.
  if (key == "train_on_inputs") return 3;
  return has(kLast) ? 2 : has(kAfter) ? 1 : 0;
}

std::vector<std::string> foreign_keys() {
  std::vector<std::string> keys;
  for (const KeyTable& table : key_tables()) {
    for (const ForeignKey& each : table.keys) {
      if (!std::string_view(each.key).ends_with('*')) keys.emplace_back(each.key);
    }
  }
  return keys;
}

const char* to_string(Program program) {
  switch (program) {
    case Program::transformers:
      return "transformers";
    case Program::llama_factory:
      return "LLaMA-Factory";
    case Program::axolotl:
      return "axolotl";
    case Program::trl:
      return "TRL";
    case Program::torchtune:
      return "torchtune";
  }
  return "";
}

}  // namespace sluice::planner
