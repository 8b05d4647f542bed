#include "blowfish/store/succinct_store_format.h"

#include <cstring>
#include <string>
#include <utility>

namespace stout::blowfish {

std::vector<std::byte> EncodeSchema(const Schema& schema) {
  std::string text(1, schema.delimiter());
  for (const std::string& name : schema.names()) {
    const auto size = static_cast<std::uint32_t>(name.size());
    text.append(reinterpret_cast<const char*>(&size), sizeof size);
    text += name;
  }
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

Result<Schema> DecodeSchema(std::span<const std::byte> bytes) {
  if (bytes.empty()) return Errc::kCorrupt;
  const char delimiter = static_cast<char>(bytes.front());
  std::vector<std::string> names;
  for (bytes = bytes.subspan(1); !bytes.empty();) {
    std::uint32_t size;
    if (bytes.size() < sizeof size) return Errc::kCorrupt;
    std::memcpy(&size, bytes.data(), sizeof size);
    bytes = bytes.subspan(sizeof size);
    if (bytes.size() < size) return Errc::kCorrupt;
    names.emplace_back(reinterpret_cast<const char*>(bytes.data()), size);
    bytes = bytes.subspan(size);
  }
  Result<Schema> schema = Schema::Make(std::move(names), delimiter);
  if (!schema) return Errc::kCorrupt;
  return schema;
}

}  // namespace stout::blowfish
