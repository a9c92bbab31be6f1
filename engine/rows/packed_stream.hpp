// Streams that unpack another one.
#pragma once

#include <memory>
#include <string>

#include "engine/rows/byte_stream.hpp"

namespace sluice::engine {

/// Stream of what `packed` holds in gzip's format, in one member or several, one after the other.
/// `file` names it in errors.
[[nodiscard]] std::unique_ptr<ByteStream> gzip_stream(std::unique_ptr<ByteStream> packed,
                                                      std::string file);
/// Stream of what `packed` holds in zstd's format, in one frame or several, one after the other.
/// `file` names it in errors.
[[nodiscard]] std::unique_ptr<ByteStream> zstd_stream(std::unique_ptr<ByteStream> packed,
                                                      std::string file);

}  // namespace sluice::engine
