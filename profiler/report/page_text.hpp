// Page, style and scripts of reports, compiled into the program from the files of this folder.
#pragma once

namespace sluice::profiler {

extern const char* const kPage;  ///< Page with the marks {{style}}, {{data}} and {{script}}.
extern const char* const kStyle;
/// Scripts in the order in which they run; a null pointer ends the list.
extern const char* const kScripts[];

}  // namespace sluice::profiler
