// What a launcher says of this process: its rank, the number of ranks, and where they meet.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <variant>

#include "engine/launch/variables.hpp"
#include "engine/ranks/world.hpp"

namespace sluice::engine {

enum class Launcher { variables, torchrun, slurm, open_mpi, hydra };

/// Address at which the first rank listens.
struct FirstRankAddress {
  std::string host;
  int port = 0;
  friend bool operator==(const FirstRankAddress&, const FirstRankAddress&) = default;
};
/// Store of torchrun's agent, which tells ranks where the first one listens.
struct AgentStore {
  std::string host;
  int port = 0;
  friend bool operator==(const AgentStore&, const AgentStore&) = default;
};
/// Folder that all ranks see, in a file of which the first one says where it listens.
struct SharedFolder {
  std::filesystem::path path;
  friend bool operator==(const SharedFolder&, const SharedFolder&) = default;
};
using MeetingPlace = std::variant<FirstRankAddress, AgentStore, SharedFolder>;

/// One process of a start of several.
struct Launch {
  Launcher by = Launcher::variables;
  World world;
  MeetingPlace place;
  std::string host;  ///< Name of this process's host; ranks with one name share a host.
};

/// What the command line says of the launch.
struct LaunchWords {
  std::optional<std::string> launch = {};      ///< Value of --launch; none is "auto".
  std::optional<std::string> rendezvous = {};  ///< Value of --rendezvous.
};

/// Finds the launcher that started this process; none where it is a single one. Of launchers that
/// started each other, the innermost counts. Throws BadRequest, naming variable and fix, where what
/// they say is incomplete or contradicts itself or `words`.
[[nodiscard]] std::optional<Launch> find_launch(const LaunchWords& words,
                                                const Variables& variables);

/// The launcher in words, such as "torchrun".
[[nodiscard]] std::string name_of(Launcher launcher);
/// The meeting place in words, such as "the folder /shared/meet".
[[nodiscard]] std::string place_text(const MeetingPlace& place);

}  // namespace sluice::engine
