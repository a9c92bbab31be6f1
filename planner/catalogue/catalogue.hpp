// The models and machines that Sluice knows by name; they are built into the program.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "planner/catalogue/known_models.hpp"
#include "planner/machines/machine.hpp"
#include "planner/models/shape.hpp"

namespace sluice::planner {

struct CatalogueMachine {
  /// Catalogue name, such as "h200"; the machine's parts are in
  /// planner/catalogue/composed_machine.hpp.
  std::string name;
};

/// All machines of the catalogue, sorted by name.
[[nodiscard]] const std::vector<CatalogueMachine>& catalogue_machines();

/// The shape of a model given as a catalogue name, a config.json, a model folder, a run folder (its
/// newest checkpoint), or a Hugging Face id, "OWNER/NAME" or "OWNER/NAME@REVISION", whose
/// config.json is in the local cache (planner/catalogue/hugging_face_cache.hpp) or whose shape the
/// catalogue has. Throws BadRequest with the nearest name, or with the command that downloads the
/// model.
[[nodiscard]] ModelShape find_model(const std::string& name);

/// The profile of a machine, `name` being a catalogue name, a name with parts replaced ("rtx-4090 +
/// 4x64 GiB DDR5-5600", find_composition), either with a number of GPUs before it ("4x-h100-sxm",
/// with_several_gpus), hosts of such ("2 hosts of 4x-h100-sxm + 8x400GbE", whose GPUs are all
/// used), a profile file, or "here": the newest probe in the user's store (for `backend`, where
/// given), else estimates from what the operating system states (here_estimate). Throws BadRequest.
[[nodiscard]] MachineProfile find_machine(const std::string& name,
                                          std::optional<DeviceKind> backend = std::nullopt);

/// Profile of this computer with the host backend, without any probe: cores, memory and disk as the
/// operating system (and its cgroup) states them, everything else estimated with wide deviations,
/// each labelled. Never reads the user's store.
[[nodiscard]] MachineProfile here_estimate();

/// Device that the host backend stands for by default: bytes of its arena, and bytes/s of its
/// copies in each direction, which are paced. The link is as slow beside the CPU's arithmetic as
/// PCIe is beside a GPU's.
inline constexpr Bytes kHostBackendHbm = Bytes(256ll << 20);
inline constexpr BytesPerSecond kHostBackendLink = BytesPerSecond(64e6);

}  // namespace sluice::planner
