// Progress as lines of JSON, for a program that started this one.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "sim/json_tree.hpp"

namespace sluice::cli {

/// Writes one line of JSON, {"what": ..., "done": ..., "all": ..., and the fields of `more`}, to
/// the file descriptor that the environment's SLUICE_PROGRESS_FD names; nothing where it names
/// none. `done` and `all` count units of the work `what`; `all` is null where it is not known
/// beforehand. May be called from any thread. What cannot be written is lost: the work goes on.
void stream_progress(const std::string& what, std::int64_t done, std::optional<std::int64_t> all,
                     const sim::Json& more);

/// Whether SLUICE_PROGRESS_FD names a file descriptor.
[[nodiscard]] bool streams_progress();

}  // namespace sluice::cli
