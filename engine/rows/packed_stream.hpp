// Streams that unpack another one.
#pragma once

#include <memory>
#include <string>

#include "engine/rows/byte_stream.hpp"

namespace sluice::engine {

/// Unpacks gzip: one member or several, one after the other. `file` is for messages.
[[nodiscard]] std::unique_ptr<ByteStream> gzip_stream(std::unique_ptr<ByteStream> packed,
                                                      std::string file);
/// Unpacks zstd: one frame or several, one after the other. `file` is for messages.
[[nodiscard]] std::unique_ptr<ByteStream> zstd_stream(std::unique_ptr<ByteStream> packed,
                                                      std::string file);

}  // namespace sluice::engine
