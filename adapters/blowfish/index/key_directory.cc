#include "blowfish/index/key_directory.h"

#include <utility>

#include "blowfish/index/bits.h"

namespace stout::blowfish {

Result<KeyDirectory> KeyDirectory::Open(std::span<const std::byte> bytes) {
  if (bytes.size() < 8) return Errc::kCorrupt;
  KeyDirectory directory;
  directory.bytes_ = bytes.size();
  switch (LoadWord(bytes.data())) {
    case FrontCodedKeys::kLayout: {
      const Result<FrontCodedKeys> keys = FrontCodedKeys::Open(bytes);
      if (!keys) return keys.error();
      directory.keys_ = *keys;
      return directory;
    }
    case NumberedKeys::kLayout: {
      Result<NumberedKeys> keys = NumberedKeys::Open(bytes);
      if (!keys) return keys.error();
      directory.bytes_ += keys->table_bytes();
      directory.keys_ = std::move(*keys);
      return directory;
    }
    default:
      return Errc::kCorrupt;
  }
}

std::uint64_t KeyDirectory::size() const {
  return std::visit([](const auto& keys) { return keys.size(); }, keys_);
}

std::optional<std::uint64_t> KeyDirectory::Find(std::string_view key) const {
  return std::visit([&](const auto& keys) { return keys.Find(key); }, keys_);
}

std::uint64_t KeyDirectory::LowerBound(std::string_view key) const {
  return std::visit([&](const auto& keys) { return keys.LowerBound(key); }, keys_);
}

void KeyDirectory::AppendKey(std::uint64_t record, std::string& key) const {
  std::visit([&](const auto& keys) { keys.AppendKey(record, key); }, keys_);
}

void KeyDirectory::Scan(std::uint64_t from, const KeyVisitor& visit) const {
  std::visit([&](const auto& keys) { keys.Scan(from, visit); }, keys_);
}

std::uint64_t KeyDirectory::text_bytes() const {
  return std::visit([](const auto& keys) { return keys.text_bytes(); }, keys_);
}

std::uint64_t KeyDirectory::bytes() const { return bytes_; }

}  // namespace stout::blowfish
