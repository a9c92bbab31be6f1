// The models and machines that Sluice knows by name; they are built into the program.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "planner/machines/machine.hpp"
#include "planner/models/shape.hpp"

namespace sluice::planner {

struct CatalogueModel {
  std::string name;  ///< The model's name in the catalogue, such as "qwen2.5-7b".
  /// Hugging Face id, such as "Qwen/Qwen2.5-7B"; empty where the model exists only in the
  /// catalogue.
  std::string hf_id;
  std::string source;  ///< Where the model's config.json comes from, and when it was read.
  std::string config;  ///< Text of the model's config.json.
};

struct CatalogueMachine {
  /// Catalogue name, such as "h200"; the machine's parts are in
  /// planner/catalogue/composed_machine.hpp.
  std::string name;
};

/// All models of the catalogue, sorted by name.
[[nodiscard]] const std::vector<CatalogueModel>& catalogue_models();
/// All machines of the catalogue, sorted by name.
[[nodiscard]] const std::vector<CatalogueMachine>& catalogue_machines();

/// The shape of a model, `name` being a catalogue name, a config.json, a model folder, or a Hugging
/// Face id whose config.json is in the local cache ($HF_HUB_CACHE, $HF_HOME/hub,
/// ~/.cache/huggingface/hub). Throws BadRequest with the nearest name, or with the command that
/// downloads the model.
[[nodiscard]] ModelShape find_model(const std::string& name);

/// Path of the newest config.json of the model "OWNER/NAME" in the local Hugging Face cache; none
/// where there is none.
[[nodiscard]] std::optional<std::filesystem::path> cached_config(const std::string& hf_id);

/// The profile of a machine, `name` being a catalogue name, a name with parts replaced ("rtx-4090 +
/// 4x64 GiB DDR5-5600", find_composition), a profile file, or "here": the newest probe in the
/// user's store (for `backend`, where given), else estimates from what the operating system states
/// (here_estimate). Throws BadRequest.
[[nodiscard]] MachineProfile find_machine(const std::string& name,
                                          std::optional<DeviceKind> backend = std::nullopt);

/// Profile of this computer with the host backend, without any probe: cores, memory and disk as the
/// operating system (and its cgroup) states them, everything else estimated with wide deviations,
/// each labelled. Never reads the user's store.
[[nodiscard]] MachineProfile here_estimate();

/// Default device of the host backend: size of its arena, and bytes/s of its paced link in each
/// direction. It is a scaled PCIe: the ratio of link to compute is that of a GPU.
inline constexpr Bytes kHostBackendHbm = Bytes(256ll << 20);
inline constexpr BytesPerSecond kHostBackendLink = BytesPerSecond(64e6);

}  // namespace sluice::planner
