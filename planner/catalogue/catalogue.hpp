// The models and machines Sluice knows by name, built into the program.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "planner/machines/machine.hpp"
#include "planner/models/shape.hpp"

namespace sluice::planner {

struct CatalogueModel {
  std::string name;    ///< "qwen2.5-7b"
  std::string hf_id;   ///< "Qwen/Qwen2.5-7B"; empty where it exists only here.
  std::string source;  ///< Whose config.json, and when read.
  std::string config;  ///< config.json text.
};

struct CatalogueMachine {
  std::string name;  ///< "h200"; planner/catalogue/composed_machine.hpp has its parts.
};

[[nodiscard]] const std::vector<CatalogueModel>& catalogue_models();      ///< Sorted by name.
[[nodiscard]] const std::vector<CatalogueMachine>& catalogue_machines();  ///< Sorted by name.

/// A catalogue name, a config.json, a model folder, or a Hugging Face id whose config.json is in
/// the local cache ($HF_HUB_CACHE, $HF_HOME/hub, ~/.cache/huggingface/hub). Throws BadRequest with
/// the nearest name, or the one-line download command.
[[nodiscard]] ModelShape find_model(const std::string& name);

/// The newest config.json of "OWNER/NAME" in the local Hugging Face cache; none where absent.
[[nodiscard]] std::optional<std::filesystem::path> cached_config(const std::string& hf_id);

/// A catalogue name, one with parts replaced ("rtx-4090 + 4x64 GiB DDR5-5600", find_composition), a
/// profile file, or "here": the newest probe in the user's store, else
/// estimates from what the operating system says (here_estimate). Throws BadRequest.
[[nodiscard]] MachineProfile find_machine(const std::string& name,
                                          std::optional<DeviceKind> backend = std::nullopt);

/// This computer as the host backend's machine before any probe: cores, memory and disk as the
/// operating system (and its cgroup) states them, everything else estimated with wide deviations,
/// each labelled. Never reads the store.
[[nodiscard]] MachineProfile here_estimate();

/// The host backend's device where nobody set one: arena size and paced link, each way. A scaled
/// PCIe: the ratio of link to compute is that of a GPU.
inline constexpr Bytes kHostBackendHbm = Bytes(256ll << 20);
inline constexpr BytesPerSecond kHostBackendLink = BytesPerSecond(64e6);

}  // namespace sluice::planner
