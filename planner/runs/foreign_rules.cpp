#include "planner/runs/foreign_rules.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>

#include "planner/runs/run_config.hpp"
#include "planner/runs/values.hpp"
#include "sim/error.hpp"
#include "sim/units_text.hpp"

namespace sluice::planner {
namespace {

using Text = const std::string&;

void note(RunConfig& run, std::string text) { run.notes.push_back(std::move(text)); }

/// Whether the name is AdamW's with its state in other types or places than ours.
bool is_other_adamw(std::string_view name) {
  constexpr std::array kNames = {"adamw_8bit",
                                 "adamw_bnb_8bit",
                                 "paged_adamw_8bit",
                                 "adamw_torch_8bit",
                                 "adamw_torch_4bit",
                                 "paged_adamw_32bit",
                                 "paged_adamw",
                                 "adamw_anyprecision",
                                 "ao_adamw_8bit",
                                 "ao_adamw_4bit",
                                 "ao_adamw_fp8",
                                 "optimi_adamw",
                                 "adamw_apex_fused",
                                 "bitsandbytes.optim.PagedAdamW8bit",
                                 "bitsandbytes.optim.PagedAdamW",
                                 "bitsandbytes.optim.AdamW8bit"};
  return std::ranges::find(kNames, name) != kNames.end();
}

bool is_adamw(std::string_view name) {
  constexpr std::array kNames = {"adamw_torch",     "adamw_torch_fused",     "adamw_hf",
                                 "adamw_torch_xla", "adamw_torch_npu_fused", "adamw",
                                 "AdamW",           "torch.optim.AdamW"};
  return std::ranges::find(kNames, name) != kNames.end();
}

}  // namespace

void require_one_of(const std::string& value, const std::string& key,
                    std::initializer_list<const char*> known, const std::string& why) {
  if (std::ranges::find(known, value) == known.end()) {
    throw BadRequest(key + ": \"" + value + "\" is not done here: " + why);
  }
}

void set_per_device(RunConfig& run, Text value, Text) {
  if (is_none(value)) return;
  set_path(run, "micro_batch", value);
  if (!run.gradient_accumulation && run.batch_size == 0) run.gradient_accumulation = 1;
}

void set_max_steps(RunConfig& run, Text value, Text key) {
  if (is_none(value)) return;
  if (parse_number(value, key) > 0) set_path(run, "steps", value);
}

void set_optimizer(RunConfig& run, Text value, Text key) {
  if (is_none(value) || is_adamw(value)) return;
  if (is_other_adamw(value)) {
    return note(run, key + ": " + value + " is AdamW, whose state is kept at 32 bits here");
  }
  if (std::isalpha(static_cast<unsigned char>(value.front())) == 0) {
    throw BadRequest(key + ": must be a map of its settings, or AdamW by one of its names");
  }
  if (value == "muon") {
    throw BadRequest(key + ": \"muon\" is written optimizer: {kind: muon, lr, momentum, ...} here");
  }
  throw BadRequest(key + ": \"" + value +
                   "\" is not done here: the optimizer is AdamW, nearest to it adamw_torch, under "
                   "optimizer: {lr, betas, eps, weight_decay}");
}

void set_bf16(RunConfig& run, Text value, Text key) {
  if (is_none(value)) return;
  if (value == "auto" || value == "full") return set_path(run, "compute", "bf16");
  set_path(run, "compute", parse_yes_or_no(value, key) ? "bf16" : "fp32");
}

void set_pure_bf16(RunConfig& run, Text value, Text key) {
  if (!parse_yes_or_no(value, key)) return;
  set_path(run, "compute", "bf16");
  note(run, key + ": master weights, m and v are kept at 32 bits all the same");
}

void set_type(RunConfig& run, Text value, Text key) {
  if (is_none(value) || value == "auto") return;
  std::string name = value.starts_with("torch.") ? value.substr(6) : value;
  if (name == "bf16") name = "bfloat16";
  if (name == "fp32" || name == "float") name = "float32";
  require_one_of(name, key, {"bfloat16", "float32"}, "compute is bf16 or fp32");
  set_path(run, "compute", name == "bfloat16" ? "bf16" : "fp32");
}

void set_packing(RunConfig& run, Text value, Text key) {
  if (is_none(value)) return;
  set_path(run, "packing", parse_yes_or_no(value, key) ? "documents" : "off");
}

void set_save_strategy(RunConfig& run, Text value, Text key) {
  if (is_none(value) || value == "steps") return;
  if (says_off(value)) return set_path(run, "save_every", "0");
  if (value == "epoch") return set_path(run, "save_every", "1 epoch");
  require_one_of(value, key, {"best"}, "write no, steps, epoch or best");
  set_path(run, "keep_best", "true");
}

void set_eval_strategy(RunConfig& run, Text value, Text key) {
  if (is_none(value) || value == "steps") return;
  if (says_off(value)) return set_path(run, "evaluate_every", "0");
  require_one_of(value, key, {"epoch"}, "write no, steps or epoch");
  set_path(run, "evaluate_every", "1 epoch");
}

void set_total_limit(RunConfig& run, Text value, Text key) {
  const bool all = is_none(value) || parse_number(value, key) <= 0;
  set_path(run, "keep_last", all ? "all" : value);
}

void set_warmup(RunConfig& run, Text value, Text key) {
  if (is_none(value)) return;
  const double amount = parse_non_negative(value, key);
  const bool share = amount > 0 && amount < 1;
  set_path(run, share ? "schedule.warmup_fraction" : "schedule.warmup_steps", value);
}

void set_chat_template(RunConfig& run, Text value, Text key) {
  constexpr std::string_view kFallback = "tokenizer_default_fallback_";
  if (is_none(value) || value == "tokenizer_default") return set_path(run, "template", "null");
  if (value.starts_with(kFallback)) {
    note(run, key + ": " + value + " is the model folder's chat template; write template: " +
                  value.substr(kFallback.size()) + " where it has none");
    return set_path(run, "template", "null");
  }
  if (value == "jinja") return;  // chat_template_jinja names it.
  set_path(run, "template", value == "qwen_25" ? "qwen2.5" : value);
}

void set_revision(RunConfig&, Text value, Text key) {
  if (is_none(value) || value == "main") return;
  throw BadRequest(key + ": \"" + value +
                   "\" is not done here: name that revision's folder in the local cache as model");
}

}  // namespace sluice::planner
