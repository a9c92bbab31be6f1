// Machine profiles as JSON, and the names and units of their numbers.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <variant>

#include "planner/machines/machine.hpp"

namespace sluice::planner {

/// The unit of a Fact, which decides how its number is printed and which suffix its JSON key has.
enum class FactUnit {
  bytes,             ///< A number of bytes; JSON keys end in "_bytes".
  bytes_per_second,  ///< A rate in bytes per second; JSON keys end in "_bytes_per_s".
  flops_per_second,  ///< A rate in FLOP per second; JSON keys end in "_flop_per_s".
  seconds,           ///< A time in seconds; JSON keys end in "_s".
  per_second,        ///< A rate in events or parameters per second; JSON keys end in "_per_s".
  number,            ///< A number without unit; JSON keys have no suffix.
};

/// One scalar number of the profile: its name, its unit, the profile's member that holds it, and
/// its meaning in words.
struct FactField {
  using Member = std::variant<Fact MachineProfile::*, FlopRate MachineProfile::*,
                              Bandwidth MachineProfile::*, MeasuredTime MachineProfile::*>;
  const char* name;  ///< Name in JSON, without the unit's suffix, and in `--set machine.NAME`.
  FactUnit unit;
  Member member;
  const char* meaning;

  /// The profile's number, in the field's unit.
  [[nodiscard]] Fact of(const MachineProfile& profile) const;
  void set(MachineProfile& profile, Fact number) const;
  /// Whether this field is `other`, a member of MachineProfile.
  [[nodiscard]] bool is(Member other) const { return member == other; }
};
[[nodiscard]] std::span<const FactField> fact_fields();
/// Whether the profile has a value for `field` to print and write: false only for a device's boost
/// and speed in FP8 where they are not known.
[[nodiscard]] bool is_stated(const MachineProfile& profile, const FactField& field);

/// Applies a run's `machine.NAME=VALUE` to the profile: VALUE is a quantity in the field's unit, or
/// a factor such as "0.5x", which scales the deviation too. NAME may also be gemm or update, which
/// take factors only. Throws BadRequest.
void set_fact(MachineProfile& profile, const std::string& name, const std::string& value);

/// A number as people read it, such as "55.4 GB/s".
[[nodiscard]] std::string format_fact(const Fact& fact, FactUnit unit);

[[nodiscard]] std::string to_json_text(const MachineProfile& profile);
/// Parses a profile's JSON text. Throws BadRequest that begins with `where` (the file's name) and
/// names the field.
[[nodiscard]] MachineProfile profile_from_json(const std::string& text, const std::string& where);
void write_profile(const MachineProfile& profile, const std::filesystem::path& path);
[[nodiscard]] MachineProfile read_profile(const std::filesystem::path& path);

const char* to_string(Source source);
const char* to_string(DeviceKind device);
[[nodiscard]] const char* to_string(FabricPath path);

}  // namespace sluice::planner
