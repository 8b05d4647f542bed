#include "blowfish/store/self_index_sections.h"

#include <fmt/format.h>

#include <algorithm>

#include "blowfish/index/psi_check.h"
#include "blowfish/store/section_arrays.h"

namespace stout::blowfish {
namespace {

constexpr std::uint64_t Blocks(std::uint64_t rows, std::uint64_t block) {
  return (rows + block - 1) / block;
}

}  // namespace

bool SelfIndexSections::Read(const IndexFile& file, std::uint64_t expected_records,
                             std::string_view prefix) {
  const auto read = [&](std::string_view name, auto& array) {
    return ReadArray(file, fmt::format("{}{}", prefix, name), array);
  };
  records = static_cast<std::uint32_t>(expected_records);
  if (expected_records >= kMaxRows || !read(section::kPsiEntries, psi_entries) ||
      !read(section::kPsiNumbers, psi_numbers) || !read(section::kFirstRows, first_rows) ||
      !read(section::kStartEntries, start_entries) ||
      !read(section::kStartNumbers, start_numbers) || first_rows.empty() ||
      first_rows.front() != 0 || !std::ranges::is_sorted(first_rows)) {
    return false;
  }
  const std::uint64_t rows = first_rows.back();
  return rows < kMaxRows && (records > 0 || rows == 0) &&
         psi_entries.size() == Blocks(rows, block) &&
         IsReadable(psi_entries, psi_numbers, rows, block) &&
         FramedArray::IsReadable(start_entries, start_numbers, records,
                                 rows + (empty_records ? records : 0));
}

void SelfIndexSections::Advise() const {
  IndexFile::Advise(std::as_bytes(psi_entries), Access::kHugePages);
  IndexFile::Advise(psi_numbers, Access::kHugePages);
}

void SelfIndexSections::Write(const SelfIndexParts& index, IndexFileWriter& file,
                              std::string_view prefix) {
  const auto add = [&](std::string_view name, std::span<const std::byte> bytes) {
    file.Add(fmt::format("{}{}", prefix, name), bytes);
  };
  add(section::kPsiEntries, BytesOf(index.psi.entries));
  // With its padding, which is more than a file gives.
  add(section::kPsiNumbers, BytesOf(index.psi.numbers));
  add(section::kFirstRows, BytesOf(index.first_rows));
  add(section::kStartEntries, BytesOf(index.starts.entries));
  add(section::kStartNumbers, Unpadded(index.starts.numbers, kBitPadding));
}

}  // namespace stout::blowfish
