#include "unpack/unpacker.h"

#include "unpack/gzip_unpacker.h"
#include "unpack/zstd_unpacker.h"

namespace stout::unpack {

std::unique_ptr<Unpacker> MakeUnpacker(std::string_view head) {
  if (head.starts_with("\x1f\x8b")) return std::make_unique<GzipUnpacker>();
  if (head.starts_with("\x28\xb5\x2f\xfd")) return std::make_unique<ZstdUnpacker>();
  return nullptr;
}

}  // namespace stout::unpack
