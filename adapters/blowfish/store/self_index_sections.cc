#include "blowfish/store/self_index_sections.h"

#include <algorithm>

#include "blowfish/index/psi_check.h"
#include "blowfish/store/section_arrays.h"

namespace stout::blowfish {
namespace {

constexpr std::uint64_t Blocks(std::uint64_t rows, std::uint64_t block) {
  return (rows + block - 1) / block;
}

}  // namespace

bool SelfIndexSections::Read(const IndexFile& file, std::uint64_t expected_records) {
  records = static_cast<std::uint32_t>(expected_records);
  if (expected_records >= kMaxRows || !ReadArray(file, section::kPsiEntries, psi_entries) ||
      !ReadArray(file, section::kPsiNumbers, psi_numbers) ||
      !ReadArray(file, section::kFirstRows, first_rows) ||
      !ReadArray(file, section::kStartEntries, start_entries) ||
      !ReadArray(file, section::kStartNumbers, start_numbers) || first_rows.empty() ||
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

void SelfIndexSections::Write(const SelfIndexParts& index, IndexFileWriter& file) {
  file.Add(section::kPsiEntries, BytesOf(index.psi.entries));
  // With its padding, which is more than a file gives.
  file.Add(section::kPsiNumbers, BytesOf(index.psi.numbers));
  file.Add(section::kFirstRows, BytesOf(index.first_rows));
  file.Add(section::kStartEntries, BytesOf(index.starts.entries));
  file.Add(section::kStartNumbers, Unpadded(index.starts.numbers, kBitPadding));
}

}  // namespace stout::blowfish
