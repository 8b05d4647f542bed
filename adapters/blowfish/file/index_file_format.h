#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "blowfish/index/bits.h"

namespace stout::blowfish {

// The format of an index file; numbers are little-endian.
//
//     header          64 bytes
//     sections        each begins at a multiple of 64 bytes, a cache line, and ends with at least
//                     kBitPadding zeros: they can be read in place
//     section table   an entry a section, in the order of the file
//
// The start of a section follows from the end of the one before it, and the table ends the file.
// Therefore every byte is determined. Checksums cover the header, the table and each section; the
// padding is 0.

/// The first byte is no text, the last ones show a transfer that took the file for text.
inline constexpr std::array<char, 8> kMagic = {'\x89', 'S', 'H', 'A', 'R', 'D', '\r', '\n'};

/// Number of the layout above, independent of the sections' content. A later layout keeps magic and
/// format in place, and a header of 64 bytes with its checksum last, so that a reader recognises
/// it.
inline constexpr std::uint32_t kFormat = 1;

inline constexpr std::uint64_t kSectionAlignment = 64;

/// More is not believed: the table is small.
inline constexpr std::uint64_t kMaxSections = 1024;

struct FileHeader {
  std::array<char, 8> magic = kMagic;
  std::uint32_t format = kFormat;
  std::uint32_t version = 0;     ///< version of the sections' content
  std::array<char, 16> kind{};   ///< kind of the content; ends with zeros
  std::uint64_t file_bytes = 0;  ///< All of them, this header too.
  std::uint64_t sections = 0;
  std::uint64_t table_checksum = 0;
  std::uint64_t checksum = 0;  ///< checksum of the header before it
};
static_assert(sizeof(FileHeader) == 64);

struct SectionEntry {
  std::array<char, 24> name{};  ///< Ends with zeros.
  std::uint64_t offset = 0;     ///< In the file.
  std::uint64_t size = 0;       ///< Without padding.
  std::uint64_t checksum = 0;
};
static_assert(sizeof(SectionEntry) == 48);

/// Start of the first section.
inline constexpr std::uint64_t kFirstSection = sizeof(FileHeader);

/// Returns the start of the next section, or of the table, if a section ends before byte `end`.
[[nodiscard]] constexpr std::uint64_t NextSection(std::uint64_t end) {
  return (end + kBitPadding + kSectionAlignment - 1) / kSectionAlignment * kSectionAlignment;
}

/// The header's bytes that its checksum covers.
[[nodiscard]] inline std::span<const std::byte> CheckedPart(const FileHeader& header) {
  return std::as_bytes(std::span(&header, 1)).first<offsetof(FileHeader, checksum)>();
}

template <std::size_t kSize>
[[nodiscard]] std::string_view UnpadName(const std::array<char, kSize>& name) {
  return {name.data(),
          static_cast<std::size_t>(std::find(name.begin(), name.end(), '\0') - name.begin())};
}

/// The name fits, without a zero in it.
template <std::size_t kSize>
void PadName(std::string_view name, std::array<char, kSize>& padded) {
  padded.fill('\0');
  std::copy(name.begin(), name.end(), padded.begin());
}

}  // namespace stout::blowfish
