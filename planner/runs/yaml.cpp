// Writes RUN.yaml.
#include <array>
#include <charconv>

#include "planner/machines/profile_file.hpp"
#include "planner/runs/run_config.hpp"
#include "planner/runs/yaml_text.hpp"
#include "sim/error.hpp"
#include "sim/units_text.hpp"

namespace sluice::planner {
namespace {

/// A number's text that YAML 1.1 reads as a number too: "1.0e-04", since "1e-04" is a word there.
std::string text_of(double number) {
  std::array<char, 32> buffer;
  std::string text = {buffer.data(),
                      std::to_chars(buffer.data(), buffer.data() + buffer.size(), number).ptr};
  const auto exponent = text.find('e');
  if (exponent != std::string::npos && text.find('.') == std::string::npos) {
    text.insert(exponent, ".0");
  }
  return text;
}

/// `key: value` lines; strings are always quoted, for YAML has many words that are not strings.
class YamlText {
 public:
  YamlText& begin(const std::string& key) {
    text_ += key + ":\n";
    indent_ = "  ";
    return *this;
  }
  YamlText& end() {
    indent_.clear();
    return *this;
  }
  YamlText& bare(const std::string& key, const std::string& value) {
    text_ += indent_ + key + ": " + value + "\n";
    return *this;
  }
  YamlText& quoted(const std::string& key, const std::string& value) {
    return bare(key, in_quotes(value));
  }
  YamlText& number(const std::string& key, std::int64_t value) {
    return bare(key, std::to_string(value));
  }
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  std::string text_;
  std::string indent_;
};

/// `{"prompt": "question", "response": "answer"}`.
std::string names_text(const std::map<std::string, std::string>& names) {
  std::string text;
  for (const auto& [name, value] : names) {
    text.append(text.empty() ? "" : ", ").append(in_quotes(name) + ": " + in_quotes(value));
  }
  return "{" + text + "}";
}

std::string entry_text(const DataEntry& entry) {
  if (is_plain(entry)) return in_quotes(entry.name.string());
  std::string text = "{path: " + in_quotes(entry.name.string());
  if (entry.weight) text += ", weight: " + text_of(*entry.weight);
  if (entry.share) text += ", share: " + text_of(*entry.share);
  if (entry.max_samples) text += ", max_samples: " + std::to_string(*entry.max_samples);
  const std::string percent = entry.max_percent ? text_of(*entry.max_percent) + "%" : "";
  if (entry.split) {
    const std::string rows = percent.empty() ? "" : "[:" + percent + "]";
    text += ", split: " + in_quotes(*entry.split + rows);
  } else if (!percent.empty()) {
    text += ", max_samples: " + percent;
  }
  if (entry.subset) text += ", subset: " + in_quotes(*entry.subset);
  if (entry.format) text += std::string(", format: ") + to_string(*entry.format);
  if (!entry.columns.empty()) text += ", columns: " + names_text(entry.columns);
  if (!entry.roles.empty()) text += ", roles: " + names_text(entry.roles);
  if (entry.only_marked) text += ", only_marked: true";
  return text + "}";
}

/// Writes a data set that is a name alone as that name, others as a list.
void write_data(YamlText& yaml, const RunConfig& run) {
  if (run.data.empty()) return;
  if (run.data.size() == 1 && is_plain(run.data.front())) {
    yaml.quoted("data", run.data.front().name.string());
    return;
  }
  std::string text;
  for (const DataEntry& each : run.data) {
    text.append(text.empty() ? "" : ",\n       ").append(entry_text(each));
  }
  yaml.bare("data", "[" + text + "]");
}

void write_limits(YamlText& yaml, const Limits& limits) {
  if (limits == Limits{}) return;
  yaml.begin("limits");
  if (limits.hbm) yaml.bare("hbm", format_exact(*limits.hbm));
  if (limits.host) yaml.bare("host", format_exact(*limits.host));
  if (limits.disk) yaml.bare("disk", format_exact(*limits.disk));
  if (limits.pinned) yaml.bare("pinned", format_exact(*limits.pinned));
  if (limits.link) yaml.bare("link", format_rate(*limits.link));
  yaml.end();
}

/// A share of the run as a number, of a pass as "0.5 epochs".
void write_cadence(YamlText& yaml, const char* key, const Cadence& cadence) {
  if (cadence.of == Cadence::Of::run) {
    yaml.bare(key, text_of(cadence.amount));
  } else {
    yaml.quoted(key, text_of(cadence.amount) + " epochs");
  }
}

void write_saving(YamlText& yaml, const RunConfig& run) {
  if (run.evaluate_every) yaml.number("evaluate_every", *run.evaluate_every);
  if (run.evaluate_cadence) write_cadence(yaml, "evaluate_every", *run.evaluate_cadence);
  if (run.save_cadence) {
    write_cadence(yaml, "save_every", *run.save_cadence);
  } else {
    yaml.number("save_every", run.save_every);
  }
  yaml.bare("keep_last", run.keep_last ? std::to_string(*run.keep_last) : "all");
  yaml.bare("keep_best", run.keep_best ? "true" : "false");
}

void write_overrides(YamlText& yaml, const RunConfig& run) {
  const std::vector<std::string> off = terms_off(run.terms);
  if (run.machine_overrides.empty() && run.plan_overrides.empty() && run.policy_overrides.empty() &&
      off.empty()) {
    return;
  }
  yaml.begin("set");
  for (const auto& [name, value] : run.machine_overrides) yaml.quoted("machine." + name, value);
  for (const auto& [name, value] : run.plan_overrides) {
    yaml.quoted("\"plan." + name + "\"", value);
  }
  for (const auto& [name, value] : run.policy_overrides) yaml.quoted("policy." + name, value);
  for (const std::string& name : off) yaml.quoted("term." + name, "off");
  yaml.end();
}

}  // namespace

std::string to_yaml(const RunConfig& run) {
  YamlText yaml;
  if (!run.model.empty()) yaml.quoted("model", run.model);
  write_data(yaml, run);
  if (run.mixture != Mixture::weights) yaml.bare("mixture", to_string(run.mixture));
  if (run.dataset_dir) yaml.quoted("dataset_dir", run.dataset_dir->string());
  yaml.bare("data_format", to_string(run.data_format));
  if (run.data_mask) yaml.quoted("data_mask", run.data_mask->string());
  if (run.data_dtype != TokenType::uint16) yaml.bare("data_dtype", to_string(run.data_dtype));
  if (run.max_samples) yaml.number("max_samples", *run.max_samples);
  if (!run.columns.empty()) yaml.bare("columns", names_text(run.columns));
  if (run.strict) yaml.bare("strict", "true");
  if (run.chat_template) yaml.quoted("template", *run.chat_template);
  if (run.date_string) yaml.quoted("date_string", *run.date_string);
  if (run.data_reading) {
    yaml.number("data_reading", static_cast<std::int64_t>(*run.data_reading));
  }
  yaml.quoted("packing", to_string(run.packing));  // YAML 1.1 reads off as a boolean.
  if (run.seq_len > 0) yaml.number("seq_len", run.seq_len);
  if (run.batch_size > 0) yaml.number("batch_size", run.batch_size);
  yaml.number("micro_batch", run.micro_batch);
  if (run.groups && (*run.groups != 1 || run.devices > 1)) yaml.number("groups", *run.groups);
  if (run.devices != 1) yaml.number("devices", run.devices);
  yaml.number("loss_chunk", run.loss_chunk).number("mlp_chunk", run.mlp_chunk);
  if (run.router_aux_loss_coef) {
    yaml.bare("router_aux_loss_coef", text_of(*run.router_aux_loss_coef));
  }
  // Only one of the two is written, since steps would take precedence.
  if (run.epochs) {
    yaml.bare("epochs", text_of(*run.epochs));
  } else {
    yaml.number("steps", run.steps);
  }
  if (run.gradient_accumulation) yaml.number("gradient_accumulation", *run.gradient_accumulation);
  yaml.number("seed", run.seed)
      .bare("compute", to_string(run.compute))
      .bare("gradient_wire", to_string(run.gradient_wire));
  const AdamWSettings& adam = run.optimizer;
  yaml.begin("optimizer")
      .bare("lr", text_of(adam.lr))
      .bare("betas", "[" + text_of(adam.beta1) + ", " + text_of(adam.beta2) + "]")
      .bare("eps", text_of(adam.eps))
      .bare("weight_decay", text_of(adam.weight_decay))
      .bare("clip", adam.clip ? text_of(*adam.clip) : "off")
      .bare("state", to_string(adam.state));
  if (adam.kind == OptimizerKind::muon) {
    yaml.bare("kind", to_string(adam.kind))
        .bare("momentum", text_of(adam.muon.momentum))
        .bare("nesterov", adam.muon.nesterov ? "true" : "false")
        .number("ns_steps", adam.muon.ns_steps)
        .bare("adjust_lr_fn", to_string(adam.muon.adjust_lr_fn));
  }
  yaml.end();
  yaml.begin("schedule")
      .bare("kind", to_string(run.schedule.kind))
      .number("warmup_steps", run.schedule.warmup_steps)
      .bare("final_fraction", text_of(run.schedule.final_fraction));
  const Schedule& schedule = run.schedule;
  if (schedule.warmup_fraction > 0) {
    yaml.bare("warmup_fraction", text_of(schedule.warmup_fraction));
  }
  if (schedule.kind == Schedule::Kind::wsd) {
    yaml.number("decay_steps", schedule.decay_steps)
        .bare("decay_fraction", text_of(schedule.decay_fraction))
        .bare("decay_shape", to_string(schedule.decay_shape));
  }
  if (schedule.power != 1) yaml.bare("power", text_of(schedule.power));
  if (schedule.cycles != 1) yaml.number("cycles", schedule.cycles);
  if (schedule.timescale != 0) yaml.number("timescale", schedule.timescale);
  yaml.end();
  write_saving(yaml, run);
  yaml.quoted("machine", run.machine);
  write_limits(yaml, run.limits);
  yaml.bare("residency", to_string(run.residency));
  if (run.policy) yaml.quoted("policy", *run.policy);
  if (run.plan) yaml.quoted("plan", run.plan->string());
  if (run.out) yaml.quoted("out", run.out->string());
  if (run.working_folder) yaml.quoted("working_folder", run.working_folder->string());
  if (run.disk_path) yaml.quoted("disk_path", run.disk_path->string());
  if (run.threads) yaml.number("threads", *run.threads);
  if (run.backend) yaml.bare("backend", to_string(*run.backend));
  write_overrides(yaml, run);
  return yaml.text();
}

}  // namespace sluice::planner
