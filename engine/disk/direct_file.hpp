// Files that nobody else opens: without a name, and with transfers that bypass the page cache.
#pragma once

#include <filesystem>

namespace sluice::engine {

/// Makes an empty file without a name in `folder`, which goes when its descriptor is closed or the
/// process ends, however it ends, and returns its descriptor; -1, with the cause in errno, where
/// that fails. Where a file system has no files without names, the file has one, which begins with
/// `prefix`, for a moment.
[[nodiscard]] int open_nameless_file(const std::filesystem::path& folder, const char* prefix);

/// Makes transfers of the file `descriptor` bypass the page cache (direct I/O) if its file system
/// allows that, and returns whether they do. Reads the file's first page to find out, because some
/// file systems accept the flag and refuse the transfers; the file must hold at least that page.
[[nodiscard]] bool pass_page_cache(int descriptor);

}  // namespace sluice::engine
