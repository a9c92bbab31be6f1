// Kinds of costs: what a cost key is the cost of, told apart without reading its name.
#pragma once

#include <cstdint>
#include <string_view>

namespace sluice::planner {

/// Kind of work or effect that a cost is of.
enum class CostKind : std::uint8_t {
  pass,             ///< A pass over a unit or a slice, and every cost that is of no other kind.
  block_update,     ///< An update of a block's matrices by Muon.
  cpu_update,       ///< An update by the CPU optimizer.
  device_update,    ///< An update on the device.
  copy_h2d,         ///< A copy from the host to the device.
  copy_d2h,         ///< A copy from the device to the host.
  copy_disk_read,   ///< A transfer from the disk.
  copy_disk_write,  ///< A transfer to the disk.
  collective,       ///< An operation of all ranks on the fabric.
  host_pass,        ///< A pass over host memory that a plan states.
  launch,           ///< The launcher's time of a task's kernels.
  data,             ///< The gathering of a step's tokens.
  interference,     ///< The factor by which one lane slows another.
  launch_delay,     ///< Time that copies of one direction add to each kernel.
  hand_off,         ///< Time of a device's queue between two copies.
  boost,            ///< A number of the compute lane's boost.
};

/// Words that begin the name of every cost of `kind`, such as "copy/h2d"; empty for passes, whose
/// names have nothing in common.
[[nodiscard]] std::string_view first_words(CostKind kind);

/// The kind of the cost that files call `name`.
[[nodiscard]] CostKind kind_named(std::string_view name);

/// Whether costs of `kind` are those of copies, in any direction and to or from any memory.
[[nodiscard]] bool is_copy(CostKind kind);

}  // namespace sluice::planner
