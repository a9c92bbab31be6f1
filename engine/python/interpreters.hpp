// Where Python is sought.
#pragma once

#include <string>
#include <vector>

namespace sluice::engine {

/// Paths of interpreters in the order in which they are tried: the one that Sluice's own Python
/// module runs in, SLUICE_PYTHON, /usr/bin/python3, the first python3 on PATH.
[[nodiscard]] std::vector<std::string> python_interpreters();

}  // namespace sluice::engine
