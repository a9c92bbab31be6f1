// The script that renders conversations: sandbox.py, template.py, answers.py, earlier.py and
// renderer.py.
#pragma once

#include <string_view>

namespace sluice::engine {

extern const std::string_view kRendererScript;

}  // namespace sluice::engine
