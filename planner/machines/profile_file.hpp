// Machine profiles as JSON, and the names and units of their numbers.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>

#include "planner/machines/machine.hpp"

namespace sluice::planner {

/// What a Fact's number counts; decides how people write it and the suffix of its JSON key.
enum class FactUnit {
  bytes,             ///< "_bytes"
  bytes_per_second,  ///< "_bytes_per_s"
  flops_per_second,  ///< "_flop_per_s"
  seconds,           ///< "_s"
  per_second,        ///< "_per_s"
  number,            ///< none
};

/// A scalar Fact of the profile, by name.
struct FactField {
  const char* name;  ///< As in `--set machine.NAME`.
  FactUnit unit;
  Fact MachineProfile::*member;
  const char* meaning;
};
[[nodiscard]] std::span<const FactField> fact_fields();
/// Whether the profile has that number to show and write: what rest does to a device's clocks is in
/// files only where it is known.
[[nodiscard]] bool is_stated(const MachineProfile& profile, const FactField& field);

/// Applies `--set machine.NAME=VALUE`: VALUE is a quantity of the field's unit or a factor "0.5x",
/// which also scales the deviation. NAME may also be gemm, update (factors only). Throws
/// BadRequest.
void set_fact(MachineProfile& profile, const std::string& name, const std::string& value);

/// "55.4 GB/s": a Fact's number for people.
[[nodiscard]] std::string format_fact(const Fact& fact, FactUnit unit);

[[nodiscard]] std::string to_json_text(const MachineProfile& profile);
/// Throws BadRequest naming `where` and the field.
[[nodiscard]] MachineProfile profile_from_json(const std::string& text, const std::string& where);
void write_profile(const MachineProfile& profile, const std::filesystem::path& path);
[[nodiscard]] MachineProfile read_profile(const std::filesystem::path& path);

const char* to_string(Source source);
const char* to_string(DeviceKind device);

}  // namespace sluice::planner
