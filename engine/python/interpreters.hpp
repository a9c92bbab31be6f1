// The Python interpreters that are tried.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace sluice::engine {

/// Makes `interpreter` the first that is tried: the one that Sluice's own Python module runs in.
void prefer_python(const std::filesystem::path& interpreter);

/// Paths of interpreters in the order in which they are tried: the one that Sluice's own Python
/// module runs in, SLUICE_PYTHON, /usr/bin/python3, the first python3 on PATH.
[[nodiscard]] std::vector<std::string> python_interpreters();

}  // namespace sluice::engine
