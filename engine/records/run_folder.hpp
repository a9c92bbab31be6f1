// The folder of one run: everything needed to say later what was promised, done and measured.
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

/// runs/NAME/{run.yaml, plan.json, predicted.trace, measured.trace, metrics.jsonl, ledger.jsonl,
/// report.html, manifest.json, checkpoints/step-N/, tensorboard/}.
class RunFolder {
 public:
  /// Makes `out`, or where none is given a new folder below `runs` named after `model` and the UTC
  /// time. Throws BadRequest where `out` already holds a run or another is at work there,
  /// EnvironmentError where it cannot be made.
  RunFolder(const std::optional<std::filesystem::path>& out, const std::string& model);
  /// A folder that may hold a run already, which goes on in it. Throws BadRequest where a run is at
  /// work there, EnvironmentError where it cannot be made.
  [[nodiscard]] static RunFolder to_continue(const std::filesystem::path& path);

  /// Throws EnvironmentError where the folder is not there any more, or another one in its place: a
  /// file system that was unmounted leaves an empty folder of the one below.
  void require_there() const;

  /// What the run writes before its first step, and the folders that were made for it: files first,
  /// then folders from the innermost on, which are to go where they are empty. What was there
  /// before is not among them.
  [[nodiscard]] std::vector<std::filesystem::path> beginnings() const;

  /// Removes what the run has written, and the folders that were made for it; what was there before
  /// stays, and so does what others have put there since.
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
  [[nodiscard]] std::filesystem::path tensorboard() const { return path_ / "tensorboard"; }
  /// This start's file in `tensorboard`.
  [[nodiscard]] const std::filesystem::path& events() const { return events_; }

 private:
  explicit RunFolder(std::filesystem::path path);
  /// The folder, for as long as a copy of this lives. Throws BadRequest where another run has it.
  void lock();

  std::filesystem::path path_, events_;
  std::vector<std::filesystem::path> made_;  ///< It and folders above it, the innermost first.
  std::set<std::filesystem::path> before_;   ///< What was in it.
  std::shared_ptr<const planner::FileDescriptor> lock_;
  std::uint64_t device_ = 0, number_ = 0;  ///< Of the folder in its file system.
};

/// A start of a run, which may still fail: then its folder is as it was before.
class RunBeginning {
 public:
  /// `folder` must outlive it, and what has files open there must not.
  explicit RunBeginning(const RunFolder& folder) : folder_(folder) {}
  ~RunBeginning() {
    if (!begun_) folder_.take_back();
  }
  RunBeginning(const RunBeginning&) = delete;  // One start, one folder.
  RunBeginning& operator=(const RunBeginning&) = delete;

  /// Steps run from now on: whatever happens, the folder stays.
  void begun() { begun_ = true; }

 private:
  const RunFolder& folder_;
  bool begun_ = false;
};

}  // namespace sluice::engine
