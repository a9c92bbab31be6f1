// Machines put together from parts: those of the catalogue, and those that a user names.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "planner/catalogue/parts.hpp"
#include "planner/machines/machine.hpp"

namespace sluice::planner {

struct Composition {
  std::string gpu, cpu;
  MemoryKit ram;
  SsdSet ssd;
  friend bool operator==(const Composition&, const Composition&) = default;
};

/// A machine of the catalogue, stated by its parts.
struct Build {
  std::string name;
  Composition parts;
  /// Name of the measured profile in the catalogue that stands for these parts; none where the
  /// profile is composed of datasheets.
  std::optional<std::string> profile;
  /// What `profile` was measured on where that is less than these parts, such as "a virtual machine
  /// with 16 of the host's cores"; empty where it is all of them.
  std::string share;
};
/// All machines of the catalogue by their parts, sorted by name.
[[nodiscard]] const std::vector<Build>& builds();
[[nodiscard]] const Build* find_build(const std::string& name);

/// Names of parts that replace those of a machine (`--gpu --cpu --ram --ssd`); none for parts that
/// stay.
struct PartFlags {
  std::optional<std::string> gpu, cpu, ram, ssd;
  [[nodiscard]] bool any() const { return gpu || cpu || ram || ssd; }
};
/// Text that names a machine, as find_machine() takes it: `base` with the parts of `flags`
/// replaced. `base` is a build or such a text; none for the build of `flags.gpu`. Throws BadRequest
/// naming the flag.
[[nodiscard]] std::string composed_text(const std::optional<std::string>& base,
                                        const PartFlags& flags);

/// Parses "rtx-4090" (a build or a GPU), followed by " + PART" for each part that differs from the
/// build's: a CPU, "4x64 GiB DDR5-5600", "2x gen4". None where the first word is neither a build
/// nor a GPU, and for a profile file (.json). Throws BadRequest for a part that is unknown, or
/// parts that do not go together.
[[nodiscard]] std::optional<Composition> find_composition(const std::string& text);

/// The shortest text that find_composition parses as `parts`.
[[nodiscard]] std::string to_text(const Composition& parts);

/// Whether some board takes both the GPU and the CPU: superchips have a CPU of their own, and GPUs
/// sold in nodes need a server's.
[[nodiscard]] bool goes_with(const GpuPart& gpu, const CpuPart& cpu);

/// Throws BadRequest, with the valid values, naming what does not go together: modules of another
/// kind, a count or a size that the board does not take, a speed that no such module has, more PCIe
/// lanes than the CPU has, a GPU that needs another CPU.
void check_parts(const Composition& parts);

/// MT/s at which the CPU runs the memory kit: the modules' speed, but at most what the CPU allows
/// with as many modules a channel (one or two) as the kit has.
[[nodiscard]] std::int64_t memory_speed(const CpuPart& cpu, const MemoryKit& kit);
/// Peak rate of the host's memory: channels that have a module x 8 bytes x MT/s.
[[nodiscard]] BytesPerSecond memory_peak(const CpuPart& cpu, const MemoryKit& kit);

/// Parameters/s that the CPU optimizer updates on all cores where host memory does not limit it.
[[nodiscard]] double update_rate(const CpuPart& cpu);

/// The profile of a machine of `parts`, which check_parts() must accept: every number comes from a
/// part's datasheet, or by the rule in its note.
[[nodiscard]] MachineProfile compose(const Composition& parts);

}  // namespace sluice::planner
