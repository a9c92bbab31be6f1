// The report's page, style and scripts, compiled into the program from the files of this folder.
#pragma once

namespace sluice::profiler {

extern const char* const kPage;  ///< Contains the marks {{style}}, {{data}} and {{script}}.
extern const char* const kStyle;
extern const char* const kScripts[];  ///< Scripts in order; ends with null.

}  // namespace sluice::profiler
