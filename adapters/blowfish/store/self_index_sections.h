#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "blowfish/file/index_file.h"
#include "blowfish/file/index_file_writer.h"
#include "blowfish/index/self_index.h"

namespace stout::blowfish::section {

inline constexpr std::string_view kPsiEntries = "psi entries";  ///< Psi::Entry
inline constexpr std::string_view kPsiNumbers = "psi numbers";  ///< See psi_block.h.
inline constexpr std::string_view kFirstRows = "first rows";    ///< Row, a symbol, and one more.
inline constexpr std::string_view kStartEntries = "start entries";  ///< FramedArray::Entry
inline constexpr std::string_view kStartNumbers = "start numbers";  ///< See FramedArray.

}  // namespace stout::blowfish::section

namespace stout::blowfish {

/// The sections that every store with a SelfIndex has.
struct SelfIndexSections {
  std::span<const Psi::Entry> psi_entries;
  std::span<const std::byte> psi_numbers;
  std::span<const Row> first_rows;
  std::span<const FramedArray::Entry> start_entries;
  std::span<const std::byte> start_numbers;
  std::uint32_t records = 0;
  std::uint32_t block = Psi::kBlock;  ///< length of Psi
  bool empty_records = false;         ///< true if a record may have no symbol

  /// Returns true if all arrays exist, have the sizes that follow from one another and from the
  /// number of records, and lead nowhere beyond themselves.   Cost: reads all but the low parts of
  /// Psi's numbers.   `prefix`: of the sections' names.
  [[nodiscard]] bool Read(const IndexFile& file, std::uint64_t expected_records,
                          std::string_view prefix = "");

  /// Once they are read.
  [[nodiscard]] std::uint64_t symbols() const { return first_rows.size() - 1; }
  [[nodiscard]] SelfIndex View() const {
    return {Psi(psi_entries, psi_numbers.data(), first_rows.back(), block), first_rows,
            FramedArray(start_entries, start_numbers.data()), records};
  }

  /// Tells the system that walks go everywhere, again and again.
  void Advise() const;

  static void Write(const SelfIndexParts& index, IndexFileWriter& file,
                    std::string_view prefix = "");
};

}  // namespace stout::blowfish
