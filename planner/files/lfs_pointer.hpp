// Git LFS pointers: small texts that stand in a clone for files that were not downloaded.
#pragma once

#include <string>
#include <string_view>

namespace sluice::planner {

/// Throws BadRequest `WHERE: is a Git LFS pointer: ...` if a file that begins with `bytes` is one.
void refuse_lfs_pointer(std::string_view bytes, const std::string& where);

}  // namespace sluice::planner
