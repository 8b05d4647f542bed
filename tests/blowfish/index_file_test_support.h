#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "blowfish/file/index_file.h"
#include "blowfish/file/index_file_writer.h"
#include "blowfish/index/bits.h"
#include "stout/core/random.h"

namespace stout::blowfish {

inline constexpr std::string_view kKind = "test";
inline constexpr std::uint32_t kVersion = 3;

using Bytes = std::vector<std::byte>;
using Sections = std::vector<std::pair<std::string, Bytes>>;

inline Bytes RandomBytes(std::uint64_t size, SplitMix64& random) {
  Bytes bytes(size);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random.Next());
  return bytes;
}

inline ErrorCode Publish(const std::string& path, const Sections& sections,
                         Diagnostics* why = nullptr, std::string_view kind = kKind,
                         std::uint32_t version = kVersion) {
  auto writer = IndexFileWriter::Create(path, kind, version, why);
  if (!writer) return writer.error();
  for (const auto& [name, bytes] : sections) writer->Add(name, bytes);
  return writer->Publish(why);
}

inline Sections SectionsOf(const IndexFile& file) {
  Sections sections;
  for (const IndexFile::Section& section : file.sections()) {
    sections.emplace_back(section.name, Bytes(section.bytes.begin(), section.bytes.end()));
  }
  return sections;
}

inline Result<IndexFile> OpenFile(const std::string& path, Verify verify,
                                  Diagnostics* why = nullptr) {
  return IndexFile::Open(path, kKind, kVersion, verify, why);
}

inline std::string ReadText(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// As a new file: to cut one that exists makes file systems write it out when it is closed.
inline void WriteText(const std::string& path, const std::string& text) {
  std::filesystem::remove(path);
  std::ofstream(path, std::ios::binary) << text;
}

inline std::vector<std::string> NamesIn(const std::string& directory) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(directory)) {
    names.push_back(entry.path().filename());
  }
  return names;
}

}  // namespace stout::blowfish
