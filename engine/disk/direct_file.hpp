// Direct I/O: transfers that bypass the page cache.
#pragma once

namespace sluice::engine {

/// Makes transfers of the file `descriptor` bypass the page cache (direct I/O) if its file system
/// allows that, and returns whether they do. Reads the file's first page to find out, because some
/// file systems accept the flag and refuse the transfers; the file must hold at least that page.
[[nodiscard]] bool pass_page_cache(int descriptor);

}  // namespace sluice::engine
