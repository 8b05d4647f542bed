#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "blowfish/file/index_file.h"

namespace stout::blowfish {

// Sections of a store's file that are arrays as they are in memory, or parts that open themselves.

/// False: the section is not there, or is no whole number of elements.
template <typename T>
[[nodiscard]] bool ReadArray(const IndexFile& file, std::string_view name,
                             std::span<const T>& array) {
  const auto bytes = file.Find(name);
  if (!bytes || bytes->size() % sizeof(T) != 0) return false;
  array = {reinterpret_cast<const T*>(bytes->data()), bytes->size() / sizeof(T)};
  return true;
}

/// False: the section is not there, or T::Open refuses it.
template <typename T>
[[nodiscard]] bool ReadPart(const IndexFile& file, std::string_view name, T& part) {
  const auto bytes = file.Find(name);
  if (!bytes) return false;
  auto opened = T::Open(*bytes);
  if (!opened) return false;
  part = std::move(*opened);
  return true;
}

template <typename T>
[[nodiscard]] std::span<const std::byte> BytesOf(const std::vector<T>& array) {
  return std::as_bytes(std::span(array));
}

/// Bytes that a reader finds behind the section of its file are not part of the section.
[[nodiscard]] inline std::span<const std::byte> Unpadded(const std::vector<std::byte>& bytes,
                                                         std::size_t padding) {
  return std::span(bytes).first(bytes.size() - padding);
}

}  // namespace stout::blowfish
