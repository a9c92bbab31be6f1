// The folder of one run, which holds what was predicted, done and measured.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "planner/files/file_descriptor.hpp"

namespace sluice::engine {

/// The folder of one run: runs/NAME/{run.yaml, plan.json, predicted.trace, measured.trace,
/// metrics.jsonl, ledger.jsonl, report.html, manifest.json, checkpoints/step-N/, tokenizer/,
/// tensorboard/}.
class RunFolder {
 public:
  /// Creates `out`, or without it a new folder in `runs` named after `model` and the UTC time.
  /// Throws BadRequest if `out` already holds a run or another program is using it,
  /// EnvironmentError if it cannot be created.
  RunFolder(const std::optional<std::filesystem::path>& out, const std::string& model);
  /// Opens or creates the folder of a run that is to continue. Throws BadRequest if another program
  /// is running there, EnvironmentError if it cannot be created.
  [[nodiscard]] static RunFolder to_continue(const std::filesystem::path& path);

  /// Throws EnvironmentError if the folder no longer exists or was replaced by another one, as
  /// happens when its file system is unmounted.
  void require_there() const;

  /// Files that the run writes before its first step, followed by the folders that were created for
  /// it, innermost first. These are to be removed (folders only if empty) when the run fails to
  /// start. Files that existed before are not listed.
  [[nodiscard]] std::vector<std::filesystem::path> beginnings() const;

  /// Removes what beginnings() lists: files that the run has written and the folders that were
  /// created for it. Files that existed before or that others have added stay.
  void take_back() const;

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  [[nodiscard]] std::filesystem::path run_yaml() const { return path_ / "run.yaml"; }
  [[nodiscard]] std::filesystem::path plan() const { return path_ / "plan.json"; }
  [[nodiscard]] std::filesystem::path predicted_trace() const { return path_ / "predicted.trace"; }
  [[nodiscard]] std::filesystem::path measured_trace() const { return path_ / "measured.trace"; }
  [[nodiscard]] std::filesystem::path metrics() const { return path_ / "metrics.jsonl"; }
  [[nodiscard]] std::filesystem::path ledger() const { return path_ / "ledger.jsonl"; }
  [[nodiscard]] std::filesystem::path report() const { return path_ / "report.html"; }
  [[nodiscard]] std::filesystem::path manifest() const { return path_ / "manifest.json"; }
  [[nodiscard]] std::filesystem::path checkpoints() const { return path_ / "checkpoints"; }
  /// Copies of the files of tokenizer and chat template that the run began with; absent where it
  /// had none.
  [[nodiscard]] std::filesystem::path tokenizer() const { return path_ / "tokenizer"; }
  [[nodiscard]] std::filesystem::path tensorboard() const { return path_ / "tensorboard"; }
  /// Path of the event file that this start of the run writes, in the folder `tensorboard`.
  [[nodiscard]] const std::filesystem::path& events() const { return events_; }

 private:
  explicit RunFolder(std::filesystem::path path);
  /// Locks the folder as long as any copy of this object lives. Throws BadRequest if another
  /// program holds the lock.
  void lock();

  std::filesystem::path path_, events_;
  /// Folders that were created for the run, innermost first.
  std::vector<std::filesystem::path> made_;
  std::set<std::filesystem::path> before_;  ///< Files that were in the folder before the run.
  std::shared_ptr<const planner::FileDescriptor> lock_;
  std::uint64_t device_ = 0, number_ = 0;  ///< Device and inode number of the folder.
};

/// Scope of a run's start: if the start fails, the folder is restored to its earlier state.
class RunBeginning {
 public:
  /// `folder` must outlive this object; objects with open files in the folder must be destroyed
  /// before it.
  explicit RunBeginning(const RunFolder& folder) : folder_(folder) {}
  ~RunBeginning() {
    if (!begun_) folder_.take_back();
  }
  RunBeginning(const RunBeginning&) = delete;  // One start, one folder.
  RunBeginning& operator=(const RunBeginning&) = delete;

  /// Marks the start as successful: the folder stays from now on.
  void begun() { begun_ = true; }

 private:
  const RunFolder& folder_;
  bool begun_ = false;
};

}  // namespace sluice::engine
