// The Python interpreters that are tried.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace sluice::engine {

/// Makes `interpreter`, the one that Sluice's own Python module runs in, the first that is tried
/// where a Python process is needed.
void prefer_python(const std::filesystem::path& interpreter);

/// Paths of Python interpreters in the order in which they are tried: the one that Sluice's own
/// Python module runs in, the one that started a wheel's program (the environment's
/// SLUICE_OWN_PYTHON), the environment's SLUICE_PYTHON, /usr/bin/python3, the first python3 on
/// PATH.
[[nodiscard]] std::vector<std::string> python_interpreters();

}  // namespace sluice::engine
