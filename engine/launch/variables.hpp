// The environment variables by which launchers tell a process its rank.
#pragma once

#include <functional>
#include <optional>
#include <string>

namespace sluice::engine {

/// Value of an environment variable by name; none where it is unset or empty.
using Variables = std::function<std::optional<std::string>(const std::string& name)>;

/// Variables of this process.
[[nodiscard]] Variables own_variables();

}  // namespace sluice::engine
