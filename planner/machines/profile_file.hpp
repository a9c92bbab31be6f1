// Machine profiles as JSON, and the names and units of their numbers.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>

#include "planner/machines/machine.hpp"

namespace sluice::planner {

/// The unit of a Fact. It decides how the number is printed and which suffix its JSON key has.
enum class FactUnit {
  bytes,             ///< Bytes; JSON keys end in "_bytes".
  bytes_per_second,  ///< Bytes per second; JSON keys end in "_bytes_per_s".
  flops_per_second,  ///< FLOP per second; JSON keys end in "_flop_per_s".
  seconds,           ///< Seconds; JSON keys end in "_s".
  per_second,        ///< Events or parameters per second; JSON keys end in "_per_s".
  number,            ///< A number without unit; JSON keys have no suffix.
};

/// A scalar Fact of the profile: its name, unit, member and meaning.
struct FactField {
  const char* name;  ///< The NAME of `--set machine.NAME`.
  FactUnit unit;
  Fact MachineProfile::*member;
  const char* meaning;
};
[[nodiscard]] std::span<const FactField> fact_fields();
/// Whether the profile has a value for `field` to print and write. The boost of a device is written
/// only where it is known.
[[nodiscard]] bool is_stated(const MachineProfile& profile, const FactField& field);

/// Applies `--set machine.NAME=VALUE`: VALUE is a quantity in the field's unit, or a factor such as
/// "0.5x", which scales the deviation too. NAME may also be gemm or update, which take factors
/// only. Throws BadRequest.
void set_fact(MachineProfile& profile, const std::string& name, const std::string& value);

/// A Fact's number as people read it, such as "55.4 GB/s".
[[nodiscard]] std::string format_fact(const Fact& fact, FactUnit unit);

[[nodiscard]] std::string to_json_text(const MachineProfile& profile);
/// Parses a profile. Throws BadRequest naming `where` and the field.
[[nodiscard]] MachineProfile profile_from_json(const std::string& text, const std::string& where);
void write_profile(const MachineProfile& profile, const std::filesystem::path& path);
[[nodiscard]] MachineProfile read_profile(const std::filesystem::path& path);

const char* to_string(Source source);
const char* to_string(DeviceKind device);

}  // namespace sluice::planner
