// The first rank's notice board, which it serves to the others over TCP.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "engine/ranks/board.hpp"

namespace sluice::engine {

/// Longest time without a word after which a rank is taken for lost: ranks say that they are alive
/// every second, whatever else they do.
inline constexpr std::chrono::seconds kUsualSilence{30};

struct BoardSettings {
  int size = 1;       ///< Number of ranks.
  std::string host;   ///< Name of the first rank's host.
  std::string token;  ///< What others must say first; ranks of another start do not know it.
  std::chrono::milliseconds silence = kUsualSilence;
};

/// Board in the memory of the first rank. A rank whose connection closes before it said that it
/// leaves, or that says nothing for too long, fails: its failure is posted.
class ServedBoard : public Board {
 public:
  /// Listens at `port`, or at any free one for 0. Throws EnvironmentError if the port is taken.
  ServedBoard(int port, const BoardSettings& settings);
  /// Waits a little for the others to leave, so that they hear why all end.
  ~ServedBoard() override;

  bool post(const std::string& key, const std::string& text) override;
  [[nodiscard]] std::optional<std::string> find(const std::string& key) const override;
  [[nodiscard]] std::string place() const override;
  [[nodiscard]] int port() const;
  /// Address of this host by which a rank of another host reached the board; empty before.
  [[nodiscard]] std::string reached_at() const;

 private:
  struct Shared;
  std::unique_ptr<Shared> shared_;
};

}  // namespace sluice::engine
