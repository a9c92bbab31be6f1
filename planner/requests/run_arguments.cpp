#include "planner/requests/run_arguments.hpp"

#include <algorithm>
#include <array>

#include "planner/catalogue/catalogue.hpp"
#include "planner/catalogue/composed_machine.hpp"
#include "planner/catalogue/model_defaults.hpp"
#include "planner/policies/policy.hpp"
#include "planner/policies/policy_changes.hpp"
#include "planner/policies/run_job.hpp"
#include "planner/requests/stated_paths.hpp"
#include "planner/runs/adapter_keys.hpp"
#include "planner/runs/foreign_keys.hpp"
#include "planner/runs/paths.hpp"
#include "planner/runs/several_hosts.hpp"
#include "sim/error.hpp"
#include "sim/nearest_name.hpp"

namespace sluice::planner {
namespace {

struct RunFlag {
  const char* name;
  const char* path;
  const char* value;
  const char* help;
};

constexpr std::array kRunFlags = {
    RunFlag{"--model", "model", "M", "catalogue name, config.json, model folder or cached HF id"},
    RunFlag{"--data", "data", "FILE", "file, or name in a dataset_info.json, to train on"},
    RunFlag{"--seq-len", "seq_len", "N", "tokens of a sequence"},
    RunFlag{"--batch-size", "batch_size", "N", "sequences a step"},
    RunFlag{"--micro-batch", "micro_batch", "N", "sequences a micro-batch (1)"},
    RunFlag{"--groups", "groups", "N", "groups of micro-batches, added up by a tree (devices)"},
    RunFlag{"--devices", "devices", "N", "GPUs of one host that share each step (1)"},
    RunFlag{"--loss-chunk", "loss_chunk", "N", "tokens whose logits exist at one time (1024)"},
    RunFlag{"--mlp-chunk", "mlp_chunk", "N", "tokens that pass an MLP at one time (65536)"},
    RunFlag{"--steps", "steps", "N", "optimizer steps (100)"},
    RunFlag{"--seed", "seed", "N", "of weights and data order (1)"},
    RunFlag{"--compute", "compute", "TYPE", "bf16, fp32, fp8 or fp8-tensorwise (bf16)"},
    RunFlag{"--gradient-wire", "gradient_wire", "TYPE", "fp32 or bf16 (fp32)"},
    RunFlag{"--lr", "optimizer.lr", "X", "learning rate (1e-4)"},
    RunFlag{"--machine", "machine", "X", "catalogue name, profile file or here (here)"},
    RunFlag{"--gpu", "part.gpu", "NAME", "a machine of parts: its GPU (sluice machines parts)"},
    RunFlag{"--cpu", "part.cpu", "NAME",
            "its CPU and board; each part else the machine's or GPU's usual"},
    RunFlag{"--ram", "part.ram", "KIT", "its memory, \"4x32 GiB DDR5-5600\""},
    RunFlag{"--ssd", "part.ssd", "SET", "its drives, \"1x gen4\""},
    RunFlag{"--hosts", "machine.hosts", "N", "equal hosts of this machine, joined by --nic (1)"},
    RunFlag{"--nic", "machine.nic", "NICS",
            "NICs of a host, \"8x400GbE\", or what they reach, \"47 GB/s\""},
    RunFlag{"--kernels", "machine.kernels", "FILE",
            "what sluice fit wrote of the machine's products and attention"},
    RunFlag{"--hbm", "limits.hbm", "SIZE", "device memory to use, such as \"24 GiB\""},
    RunFlag{"--host", "limits.host", "SIZE", "host memory to use"},
    RunFlag{"--disk", "limits.disk", "SIZE", "disk to use"},
    RunFlag{"--disk-path", "disk_path", "DIR", "folder on the drive to use (the run folder)"},
    RunFlag{"--ssd-tbw", "machine.disk_endurance", "SIZE",
            "what its maker rates the drive for in all, such as \"600 TB\""},
    RunFlag{"--pinned", "limits.pinned", "SIZE", "host memory that can be pinned (all of it)"},
    RunFlag{"--link", "limits.link", "RATE", "hold copies each way to this, such as \"12 GB/s\""},
    RunFlag{"--threads", "threads", "N", "threads of the CPU optimizer"},
    RunFlag{"--residency", "residency", "auto|host",
            "host keeps master, m and v out of HBM (auto)"},
    RunFlag{"--backend", "backend", "cuda|host", "what executes"},
    RunFlag{"--plan", "plan", "FILE", "a plan to use as it is"},
    RunFlag{"--policy", "policy", "NAME", "a peer's schedule or FILE.yaml (docs/policies.md)"},
    RunFlag{"--out", "out", "DIR", "run folder"},
};

bool is_path(const std::string& key) {
  return !key.empty() && std::ranges::all_of(key, [](char letter) {
    return (letter >= 'a' && letter <= 'z') || (letter >= '0' && letter <= '9') || letter == '_' ||
           letter == '.' || letter == '[' || letter == ']';
  });
}

/// One command line, read from left to right.
class Reader {
 public:
  Reader(const std::vector<std::string>& arguments, const std::vector<VerbFlag>& own)
      : arguments_(arguments), own_(own) {}

  RunArguments read() {
    // Flags override the file wherever they stand, so the file is found first.
    while (next_ < arguments_.size()) read_one();
    if (result_.has("--help")) return std::move(result_);
    if (result_.run_file) {
      result_.config = read_run(*result_.run_file, refusals_);
      lead_to_working_folder(result_.config);
    }
    for (const auto& [path, value] : overrides_) override_with(path, value);
    const std::string file = result_.run_file ? result_.run_file->string() : "RUN.yaml";
    if (auto adapters = adapter_refusal(result_.config, file)) {
      refusals_.push_back(std::move(*adapters));
    }
    refuse_all();
    if (parts_.any()) put_together();
    settle(result_.config);
    spread_cluster(result_.config);
    if (auto note = default_sizes_note(result_.config.model)) {
      result_.config.notes.push_back(std::move(*note));
    }
    read_policy();
    return std::move(result_);
  }

 private:
  /// Reads the run's policy, if it can be read; otherwise the error is reported where it is needed.
  void read_policy() {
    RunConfig& config = result_.config;
    if (!config.policy) return;
    try {
      result_.policy = Policy(config);
    } catch (const BadRequest&) {
      return;
    }
    for (std::string& note : policy_notes(config, *result_.policy)) {
      config.notes.push_back(std::move(note));
    }
  }

  /// Sets what a word of the command line states, which holds over what a file says of the same.
  void override_with(const std::string& path, const std::string& value) {
    try {
      apply(path, value);
    } catch (const BadRequest& error) {
      refusals_.push_back({path, error.what()});
      return;
    }
    result_.stated.push_back(path);
    const std::string ours = our_path(path);
    std::erase_if(refusals_, [&ours](const Refusal& each) { return our_path(each.path) == ours; });
  }

  /// Throws all refusals if there are any, and with those of a file what it lacks besides.
  void refuse_all() {
    if (refusals_.empty()) return;
    const RunConfig& config = result_.config;
    const auto told = [this](const char* path) {
      return std::ranges::any_of(
          refusals_, [path](const Refusal& each) { return our_path(each.path) == path; });
    };
    // What holds no keys lacks none in particular.
    if (result_.run_file && !told("")) {
      for (const auto& [path, message] : missing_sizes(config)) {
        if (!told(path.c_str())) refusals_.push_back({path, message});
      }
      if (!config.model.empty() && !told("model")) add_model();
    }
    throw_if_any(refusals_);
  }

  void add_model() {
    try {
      (void)find_model(result_.config.model);
    } catch (const BadRequest& error) {
      refusals_.push_back({"model", error.what()});
    }
  }

  void apply(const std::string& path, const std::string& value) {
    for (const auto& [part, text] : {std::pair{"part.gpu", &parts_.gpu},
                                     {"part.cpu", &parts_.cpu},
                                     {"part.ram", &parts_.ram},
                                     {"part.ssd", &parts_.ssd}}) {
      if (path == part) {
        *text = value;
        return;
      }
    }
    set_path(result_.config, path, value);
  }

  /// Parts replace those of the machine named, or of the GPU's usual one where only the default
  /// ("here") stands.
  void put_together() {
    RunConfig& config = result_.config;
    const bool named = config.machine != RunConfig().machine;
    config.machine = composed_text(named ? std::optional(config.machine) : std::nullopt, parts_);
  }

  void read_one() {
    const std::string word = arguments_[next_++];
    if (word.size() > 1 && word.front() == '-') return read_flag(word);
    const auto equals = word.find('=');
    if (equals != std::string::npos && is_path(word.substr(0, equals))) {
      overrides_.emplace_back(word.substr(0, equals), word.substr(equals + 1));
    } else if (result_.run_file) {
      throw BadRequest("\"" + word + "\": one RUN.yaml is given already (" +
                       result_.run_file->string() + "); overrides are written key=value");
    } else {
      result_.run_file = word;
    }
  }

  void read_flag(const std::string& word) {
    const auto equals = word.find('=');
    const std::string name = word.substr(0, equals);
    const std::optional<std::string> attached =
        equals == std::string::npos ? std::nullopt : std::optional(word.substr(equals + 1));
    if (name == "--help" || name == "-h") {
      result_.flags["--help"].emplace_back();
      return;
    }
    if (const VerbFlag* flag = own(name)) {
      if (flag->takes == VerbFlag::Takes::value) {
        result_.flags[name].push_back(value_of(name, attached));
      } else if (attached) {
        throw BadRequest(name + ": takes no value");
      } else {
        result_.flags[name].emplace_back();
      }
      return;
    }
    if (name == "--set") return read_set(value_of(name, attached));
    const auto found =
        std::ranges::find_if(kRunFlags, [&name](const RunFlag& flag) { return name == flag.name; });
    if (found == kRunFlags.end()) refuse(name);
    overrides_.emplace_back(found->path, value_of(name, attached));
  }

  void read_set(const std::string& setting) {
    const auto equals = setting.find('=');
    if (equals == std::string::npos) {
      throw BadRequest("--set: \"" + setting + "\" must be PATH=VALUE, such as machine.h2d=0.5x");
    }
    overrides_.emplace_back(setting.substr(0, equals), setting.substr(equals + 1));
  }

  std::string value_of(const std::string& name, const std::optional<std::string>& attached) {
    if (attached) return *attached;
    const auto is_flag = [](const std::string& word) { return word.starts_with("--"); };
    if (next_ == arguments_.size() || is_flag(arguments_[next_])) {
      throw BadRequest(name + ": a value is missing after it");
    }
    return arguments_[next_++];
  }

  [[nodiscard]] const VerbFlag* own(const std::string& name) const {
    const auto found =
        std::ranges::find_if(own_, [&name](const VerbFlag& flag) { return flag.name == name; });
    return found == own_.end() ? nullptr : &*found;
  }

  [[noreturn]] void refuse(const std::string& name) const {
    if (name == "--free") {
      throw BadRequest(name + ": plan, autotune and init choose sizes; here, state them");
    }
    std::vector<std::string> known = {"--set", "--help"};
    for (const RunFlag& flag : kRunFlags) known.emplace_back(flag.name);
    for (const VerbFlag& flag : own_) known.push_back(flag.name);
    std::string path = name.substr(std::min<std::size_t>(name.size(), 2));
    std::ranges::replace(path, '-', '_');
    const std::vector<std::string> paths = run_paths();
    if (std::ranges::find(paths, path) != paths.end()) {
      throw BadRequest(name + ": is a key of a run without a flag: write " + path + "=VALUE");
    }
    throw BadRequest(name + ": unknown flag" + sim::did_you_mean(name, known));
  }

  const std::vector<std::string>& arguments_;
  const std::vector<VerbFlag>& own_;
  std::size_t next_ = 0;
  std::vector<std::pair<std::string, std::string>> overrides_;
  PartFlags parts_;
  std::vector<Refusal> refusals_;
  RunArguments result_;
};

}  // namespace

std::optional<std::string> RunArguments::value(const std::string& flag) const {
  const auto found = flags.find(flag);
  if (found == flags.end()) return std::nullopt;
  return found->second.back();
}

RunArguments parse_run(const std::vector<std::string>& arguments,
                       const std::vector<VerbFlag>& own) {
  return Reader(arguments, own).read();
}

std::string run_flags_help() {
  static constexpr std::size_t kColumn = 26;
  std::string text;
  const auto line = [&text](std::string flag, const char* help) {
    flag.resize(std::max(kColumn, flag.size() + 1), ' ');
    text.append("  ").append(flag).append(help).append("\n");
  };
  for (const RunFlag& flag : kRunFlags) {
    line(std::string(flag.name) + " " + flag.value, flag.help);
  }
  line("--set PATH=VALUE",
       "job., machine. (\"12 GB/s\", 0.5x), plan., policy. fields, term.NAME=off");
  return text;
}

}  // namespace sluice::planner
