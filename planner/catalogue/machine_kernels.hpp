// Kernel models of machines: the catalogue's, and files that `sluice fit` wrote.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "planner/kernels/kernel_model.hpp"
#include "planner/machines/machine.hpp"

namespace sluice::planner {

/// The catalogue's kernel model of the machine with this name; none where the catalogue has none.
[[nodiscard]] std::optional<KernelModel> catalogue_kernels(const std::string& machine);

/// Sets the kernel model of `machine` to the one in the file `path`: matrix products and attention
/// are then timed by it, and a family that the file lacks by the profile as before. Passes that a
/// probe measured stay in the profile where they are this machine's own; those of a catalogue's
/// machine, which were measured on another card, are removed. `name` is how the run names the
/// machine. Throws BadRequest, in one line, where there is no such file, it is no kernel model, it
/// has no kernels, or it is of another GPU than the machine's.
void set_kernels(MachineProfile& machine, const std::filesystem::path& path,
                 const std::string& name);

}  // namespace sluice::planner
