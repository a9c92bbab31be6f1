// Transfers past the page cache.
#pragma once

namespace sluice::engine {

/// Has transfers of the file `descriptor` pass the page cache, where its file system allows that;
/// says whether it does. Some refuse the flag, others the transfers: one page is read to see, which
/// must be there.
[[nodiscard]] bool pass_page_cache(int descriptor);

}  // namespace sluice::engine
