#include "planner/files/lfs_pointer.hpp"

#include "sim/error.hpp"

namespace sluice::planner {

void refuse_lfs_pointer(std::string_view bytes, const std::string& where) {
  // The first line of a pointer (github.com/git-lfs/git-lfs, docs/spec.md); the second is of
  // versions before 1.0.
  for (const char* first :
       {"version https://git-lfs.github.com/spec/", "version http://git-media.io/v/"}) {
    if (!bytes.starts_with(first)) continue;
    throw BadRequest(where + ": is a Git LFS pointer, and the file that it stands for was not " +
                     "downloaded: run git lfs pull in its folder");
  }
}

}  // namespace sluice::planner
