#include "engine/launch/launch.hpp"

#include <unistd.h>

#include <array>
#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "engine/launch/host_list.hpp"
#include "sim/error.hpp"

namespace sluice::engine {
namespace {

/// Names of a launcher's variables.
struct LauncherNames {
  Launcher launcher;
  const char* word;  ///< Value of --launch that asks for it.
  const char* mark;  ///< Variable that nobody else sets.
  const char* rank;
  const char* size;
};

/// Launchers from the innermost to the outermost: srun starts mpirun or torchrun, never the other
/// way round.
constexpr std::array kLaunchers{
    LauncherNames{Launcher::torchrun, "torchrun", "TORCHELASTIC_RUN_ID", "RANK", "WORLD_SIZE"},
    LauncherNames{Launcher::open_mpi, "mpirun", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_RANK",
                  "OMPI_COMM_WORLD_SIZE"},
    LauncherNames{Launcher::slurm, "slurm", "SLURM_STEP_NUM_TASKS", "SLURM_PROCID",
                  "SLURM_STEP_NUM_TASKS"},
    LauncherNames{Launcher::hydra, "hydra", "PMI_SIZE", "PMI_RANK", "PMI_SIZE"},
    LauncherNames{Launcher::variables, "variables", "MASTER_ADDR", "RANK", "WORLD_SIZE"}};
constexpr LauncherNames kPlain{Launcher::variables, "variables", "SLUICE_RANK", "SLUICE_RANK",
                               "SLUICE_SIZE"};
constexpr char kWords[] = "auto, none, variables, torchrun, slurm, mpirun or hydra";

std::int64_t number_in(const std::string& text, const std::string& name, std::int64_t least) {
  std::int64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, number);
  constexpr std::int64_t kMost = 1 << 20;
  if (read.ec == std::errc() && read.ptr == end && number >= least && number <= kMost) {
    return number;
  }
  throw BadRequest("launch: " + name + " is \"" + text + "\": set it to a whole number from " +
                   std::to_string(least) + " on");
}

std::int64_t number_of(const Variables& variables, const std::string& name, std::int64_t least,
                       const std::string& beside) {
  const auto text = variables(name);
  if (!text) {
    throw BadRequest("launch: " + beside + " is set and " + name + " is not: set both, or neither");
  }
  return number_in(*text, name, least);
}

World world_of(const Variables& variables, const LauncherNames& names) {
  const std::int64_t rank = number_of(variables, names.rank, 0, names.mark);
  const std::int64_t size = number_of(variables, names.size, 1, names.mark);
  if (rank >= size) {
    throw BadRequest(std::string("launch: ") + names.rank + " is " + std::to_string(rank) +
                     " and " + names.size + " is " + std::to_string(size) +
                     ": ranks count from 0, so give a smaller rank");
  }
  return {static_cast<int>(rank), static_cast<int>(size)};
}

FirstRankAddress address_in(const std::string& text, const std::string& name) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string::npos || colon == 0) {
    throw BadRequest("launch: " + name + " is \"" + text + "\": write HOST:PORT");
  }
  return {text.substr(0, colon),
          static_cast<int>(number_in(text.substr(colon + 1), name + "'s port", 1))};
}

/// The place that the user names for any launcher, if any.
std::optional<MeetingPlace> stated_place(const LaunchWords& words, const Variables& variables) {
  const auto address = variables("SLUICE_ADDRESS");
  if (!words.rendezvous) {
    if (!address) return std::nullopt;
    return address_in(*address, "SLUICE_ADDRESS");
  }
  const std::string& text = *words.rendezvous;
  if (address) {
    throw BadRequest("launch: --rendezvous " + text + " and SLUICE_ADDRESS " + *address +
                     " name two meeting places: give one");
  }
  constexpr std::string_view kFile = "file://", kTcp = "tcp://";
  if (text.starts_with(kFile) && text.size() > kFile.size()) {
    return SharedFolder{text.substr(kFile.size())};
  }
  if (text.starts_with(kTcp)) return address_in(text.substr(kTcp.size()), "--rendezvous");
  throw BadRequest("launch: --rendezvous is \"" + text +
                   "\": write file:///FOLDER or tcp://HOST:PORT");
}

/// A port for the step `step` of Slurm's job `job`, among those that are neither reserved nor
/// usually given to outgoing connections.
int slurm_port(const Variables& variables) {
  constexpr std::uint64_t kFirst = 15000, kCount = 15000;
  const auto number = [&](const char* name) {
    return std::strtoull(variables(name).value_or("0").c_str(), nullptr, 10);
  };
  constexpr std::uint64_t kStepsOfAJob = 31;
  const std::uint64_t start = number("SLURM_JOB_ID") * kStepsOfAJob + number("SLURM_STEP_ID");
  return static_cast<int>(kFirst + start % kCount);
}

FirstRankAddress master_of(const Variables& variables) {
  const auto host = variables("MASTER_ADDR");
  if (!host) throw BadRequest("launch: MASTER_PORT is set and MASTER_ADDR is not: set both");
  constexpr std::int64_t kLeastPort = 1;
  return {*host, static_cast<int>(number_of(variables, "MASTER_PORT", kLeastPort, "MASTER_ADDR"))};
}

/// Open MPI says nothing of where ranks are; on one host they meet in a folder of the job.
MeetingPlace open_mpi_place(const Variables& variables, World world) {
  const auto local = variables("OMPI_COMM_WORLD_LOCAL_SIZE");
  const auto job = variables("PMIX_NAMESPACE");
  if (local && job && *local == std::to_string(world.size)) {
    return SharedFolder{std::filesystem::temp_directory_path() /
                        ("sluice-mpirun-" + std::to_string(getuid()) + "-" + *job)};
  }
  throw BadRequest(
      "launch: mpirun does not say on which host the first rank is: pass -x "
      "SLUICE_ADDRESS=HOST:PORT of it, or --rendezvous file:///SHARED/FOLDER");
}

MeetingPlace place_of(const LauncherNames& names, const Variables& variables, World world) {
  switch (names.launcher) {
    case Launcher::torchrun: {
      const FirstRankAddress master = master_of(variables);
      if (variables("TORCHELASTIC_USE_AGENT_STORE") == "True") {
        return AgentStore{master.host, master.port};
      }
      return master;
    }
    case Launcher::slurm:
      return FirstRankAddress{first_host(variables("SLURM_STEP_NODELIST").value_or("")),
                              slurm_port(variables)};
    case Launcher::open_mpi:
      return open_mpi_place(variables, world);
    case Launcher::hydra:
      throw BadRequest(
          "launch: Hydra's mpirun does not say where the first rank is: pass -genv SLUICE_ADDRESS "
          "HOST:PORT of it, or --rendezvous file:///SHARED/FOLDER");
    case Launcher::variables:
      break;
  }
  if (names.rank == std::string_view("RANK")) return master_of(variables);
  throw BadRequest(
      "launch: SLUICE_RANK is set and no meeting place: set SLUICE_ADDRESS to HOST:PORT of rank "
      "0, or give --rendezvous file:///SHARED/FOLDER");
}

std::string said(const LauncherNames& names, World world) {
  return std::string(names.rank) + " says rank " + std::to_string(world.rank) + " of " +
         std::to_string(world.size);
}

/// Launchers of this process that are allowed by --launch `word`, the innermost first.
std::vector<LauncherNames> present(const std::string& word, const Variables& variables) {
  std::vector<LauncherNames> found;
  for (const LauncherNames& each : kLaunchers) {
    if (word != "auto" && word != each.word) continue;
    const bool agent = variables("TORCHELASTIC_RUN_ID").has_value();
    if (each.launcher == Launcher::variables && (agent || !variables("WORLD_SIZE"))) continue;
    // Slurm speaks PMI to the tasks of a step as Hydra does, and Open MPI may.
    if (each.launcher == Launcher::hydra && !found.empty()) continue;
    if (variables(each.mark)) found.push_back(each);
  }
  return found;
}

std::string own_host(const Variables& variables) {
  if (auto name = variables("SLUICE_HOST")) return *name;
  if (auto name = variables("SLURMD_NODENAME")) return *name;
  std::array<char, 256> name{};
  gethostname(name.data(), name.size() - 1);
  return name.data();
}

bool is_word(const std::string& word) {
  if (word == "auto" || word == "none") return true;
  for (const LauncherNames& each : kLaunchers) {
    if (word == each.word) return true;
  }
  return false;
}

/// The launcher that counts: plain variables of ours, which must agree with what another one says,
/// or the innermost.
std::optional<LauncherNames> chosen(const std::string& word, const Variables& variables) {
  const std::vector<LauncherNames> found = present(word, variables);
  const bool plain = variables("SLUICE_RANK") || variables("SLUICE_SIZE");
  if (!plain || (word != "auto" && word != kPlain.word)) {
    if (!found.empty()) return found.front();
    if (word == "auto") return std::nullopt;
    throw BadRequest("launch: --launch " + word +
                     " is asked for and its variables are not set: start the program by it, or "
                     "leave --launch out");
  }
  const World world = world_of(variables, kPlain);
  if (word == "auto" && !found.empty()) {
    const World other = world_of(variables, found.front());
    if (other != world && other.size > 1) {
      throw BadRequest("launch: " + said(kPlain, world) + " and " + said(found.front(), other) +
                       ": unset one of them, or choose by --launch");
    }
  }
  return kPlain;
}

}  // namespace

Variables own_variables() {
  return [](const std::string& name) -> std::optional<std::string> {
    const char* const value = std::getenv(name.c_str());
    if (value == nullptr || *value == '\0') return std::nullopt;
    return value;
  };
}

std::optional<Launch> find_launch(const LaunchWords& words, const Variables& variables) {
  const std::string word = words.launch.value_or("auto");
  if (!is_word(word)) {
    throw BadRequest("launch: --launch is \"" + word + "\": write " + kWords);
  }
  const auto names = word == "none" ? std::nullopt : chosen(word, variables);
  if (!names) {
    if (!words.rendezvous) return std::nullopt;
    throw BadRequest("launch: --rendezvous " + *words.rendezvous +
                     " is given and no rank: set SLUICE_RANK and SLUICE_SIZE, or start the program "
                     "by a launcher");
  }
  const World world = world_of(variables, *names);
  if (world.size == 1) return std::nullopt;
  const auto stated = stated_place(words, variables);
  return Launch{.by = names->launcher,
                .world = world,
                .place = stated ? *stated : place_of(*names, variables, world),
                .host = own_host(variables)};
}

std::string name_of(Launcher launcher) {
  switch (launcher) {
    case Launcher::torchrun:
      return "torchrun";
    case Launcher::slurm:
      return "Slurm";
    case Launcher::open_mpi:
      return "Open MPI";
    case Launcher::hydra:
      return "Hydra";
    case Launcher::variables:
      break;
  }
  return "environment variables";
}

std::string place_text(const MeetingPlace& place) {
  if (const auto* folder = std::get_if<SharedFolder>(&place)) {
    return "the folder " + folder->path.string();
  }
  if (const auto* store = std::get_if<AgentStore>(&place)) {
    return "torchrun's store at " + store->host + ":" + std::to_string(store->port);
  }
  const auto& address = std::get<FirstRankAddress>(place);
  return address.host + ":" + std::to_string(address.port);
}

}  // namespace sluice::engine
