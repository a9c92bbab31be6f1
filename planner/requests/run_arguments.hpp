// Arguments that every verb with a RUN shares.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "planner/policies/policy.hpp"
#include "planner/runs/run_config.hpp"

namespace sluice::planner {

/// A flag of one verb of the command line, beside the flags that state a run.
struct VerbFlag {
  enum class Takes { nothing, value };  ///< Whether a value follows the flag.
  std::string name;  ///< Name of the flag with its dashes, such as "--json" or "-o".
  Takes takes = Takes::nothing;
  std::string help = {};
};

/// A run as the arguments of a command state it, and the verb's own flags as the user gave them.
struct RunArguments {
  RunConfig config;
  /// The run's policy; none where it names none, or one that cannot be read.
  std::optional<Policy> policy = {};
  /// The run's YAML file among the arguments; none where the run is stated by flags alone.
  std::optional<std::filesystem::path> run_file;
  /// Values of the verb's own flags, by flag, in the order given; an empty text for a flag without
  /// value.
  std::map<std::string, std::vector<std::string>> flags;
  /// Paths of the run that arguments set, such as "seq_len", whatever the file says of them.
  std::vector<std::string> stated;
  [[nodiscard]] bool has(const std::string& flag) const { return flags.contains(flag); }
  /// The value that `flag` was given last; none where it was not given.
  [[nodiscard]] std::optional<std::string> value(const std::string& flag) const;
};

/// Reads a command line without program and verb: a `RUN.yaml`, `key=value` overrides and flags
/// (`--seq-len 1024`, `--seq-len=1024`) in order, each overriding what came before; the file always
/// comes first. `own` are the verb's own flags. Throws BadRequest for unknown flags (naming the
/// nearest), missing values, a second file.
[[nodiscard]] RunArguments parse_run(const std::vector<std::string>& arguments,
                                     const std::vector<VerbFlag>& own = {});

/// Help text of the flags that state a run, one a line.
[[nodiscard]] std::string run_flags_help();

}  // namespace sluice::planner
