// The report's page, style and scripts as they lie in this folder, compiled into the program.
#pragma once

namespace sluice::profiler {

extern const char* const kPage;  ///< With the marks {{style}}, {{data}} and {{script}}.
extern const char* const kStyle;
extern const char* const kScripts[];  ///< In order; ends with null.

}  // namespace sluice::profiler
