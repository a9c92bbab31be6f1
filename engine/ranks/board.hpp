// A notice board of processes that do not know each other's addresses yet.
#pragma once

#include <filesystem>
#include <map>
#include <mutex>
#include <optional>
#include <string>

namespace sluice::engine {

/// Texts by key that all ranks of a run read and post. It serves one start of one run.
class Board {
 public:
  virtual ~Board() = default;
  Board() = default;
  Board(const Board&) = delete;  // Several ranks may use it.
  Board& operator=(const Board&) = delete;

  /// Posts `text` under `key`, unless there is a text already, which stays. Returns whether it was
  /// posted. Throws EnvironmentError if the board cannot be written.
  virtual bool post(const std::string& key, const std::string& text) = 0;
  /// The text under `key`; none if nobody has posted it.
  [[nodiscard]] virtual std::optional<std::string> find(const std::string& key) const = 0;
  /// Where it is, for messages.
  [[nodiscard]] virtual std::string place() const = 0;
};

/// A board in a folder that all ranks see, which each start of a run has for itself: a file a key.
class FolderBoard : public Board {
 public:
  /// Creates `folder` if it is missing. Throws EnvironmentError if it cannot.
  explicit FolderBoard(const std::filesystem::path& folder);
  bool post(const std::string& key, const std::string& text) override;
  [[nodiscard]] std::optional<std::string> find(const std::string& key) const override;
  [[nodiscard]] std::string place() const override { return folder_.string(); }

 private:
  std::filesystem::path folder_;
};

/// A board in memory, for ranks that are threads.
class MemoryBoard : public Board {
 public:
  bool post(const std::string& key, const std::string& text) override;
  [[nodiscard]] std::optional<std::string> find(const std::string& key) const override;
  [[nodiscard]] std::string place() const override { return "memory"; }

 private:
  mutable std::mutex mutex_;
  std::map<std::string, std::string> texts_;
};

}  // namespace sluice::engine
