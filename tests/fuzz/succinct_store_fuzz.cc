// Goal: for any content of a SuccinctStore's sections behind correct checksums, the file is
// refused, or gives any answer without reading beyond it or running for ever. Method: the input is
// the sections one after the other, each behind its size in three bytes. A file is made of them,
// opened, and asked for everything.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <numeric>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "blowfish/file/checksum.h"
#include "blowfish/file/index_file_format.h"
#include "blowfish/file/unique_fd.h"
#include "blowfish/store/new_layers.h"
#include "blowfish/store/self_index_sections.h"
#include "blowfish/store/succinct_store.h"
#include "blowfish/store/succinct_store_format.h"
#include "blowfish/store/value_reader.h"

namespace stout::blowfish {
namespace {

constexpr std::array kNames{section::kSchema,        section::kKeys,         section::kStamps,
                            section::kPsiEntries,    section::kPsiNumbers,   section::kFirstRows,
                            section::kStartEntries,  section::kStartNumbers, section::kAttributes,
                            section::kTexts,         section::kLongTexts,    section::kDeletedKeys,
                            section::kDeletedStamps, section::kDeletedTimes};
/// A file has all of these, or none.
constexpr std::array kBlockNames{section::kBlocks, section::kBlockDictionary, section::kBlockBounds,
                                 section::kRecordBounds, section::kValueBounds};
/// Likewise; an input with this byte in place of the others has them.
constexpr std::byte kTextMark{0xff};
constexpr std::array<std::string_view, 9> kTextNames{
    "text psi entries",     "text psi numbers",   "text first rows",
    "text start entries",   "text start numbers", section::kTextBegins,
    section::kTextAlphabet, section::kTextRows,   section::kTextPositions};

constexpr std::size_t kSizeBytes = 3;

/// Up to these numbers of records and values everything is asked. Walks of the maximum length take
/// time.
constexpr std::uint32_t kMaxRecords = 40;
constexpr std::uint64_t kMaxSteps = 1 << 14;

// An optimiser must not drop the reading.
volatile std::uint64_t sink;

// Cuts the next section off the input.
std::span<const std::byte> NextSectionOf(std::span<const std::byte>& input) {
  std::uint32_t size = 0;
  if (input.size() < kSizeBytes) return {};
  std::memcpy(&size, input.data(), kSizeBytes);
  input = input.subspan(kSizeBytes);
  const auto section = input.first(std::min<std::size_t>(size, input.size()));
  input = input.subspan(section.size());
  return section;
}

// Checksums of sections are left out: who opens a file need not look at them.
std::vector<std::byte> FileOf(std::span<const std::byte> input) {
  std::vector<std::byte> file(sizeof(FileHeader));
  std::vector<SectionEntry> table;
  const auto add = [&](std::string_view name) {
    const auto section = NextSectionOf(input);
    SectionEntry& entry = table.emplace_back();
    PadName(name, entry.name);
    entry.offset = file.size();
    entry.size = section.size();
    file.insert(file.end(), section.begin(), section.end());
    file.resize(NextSection(file.size()));
  };
  std::ranges::for_each(kNames, add);
  const bool text = !input.empty() && input.front() == kTextMark;
  if (text) input = input.subspan(1);
  if (text) {
    std::ranges::for_each(kTextNames, add);
  } else if (!input.empty()) {
    std::ranges::for_each(kBlockNames, add);
  }
  const auto table_bytes = std::as_bytes(std::span(table));
  file.insert(file.end(), table_bytes.begin(), table_bytes.end());
  FileHeader header;
  header.version = SuccinctStore::kFileVersion;
  PadName(SuccinctStore::kFileKind, header.kind);
  header.file_bytes = file.size();
  header.sections = table.size();
  header.table_checksum = Checksum(table_bytes);
  header.checksum = Checksum(CheckedPart(header));
  std::memcpy(file.data(), &header, sizeof header);
  return file;
}

void Use(std::string_view text) { sink = Checksum(std::as_bytes(std::span(text))); }

void ReadKeys(const KeyDirectory& keys) {
  std::uint32_t visited = 0;
  keys.Scan(0, [&](std::uint64_t, std::string_view key) {
    Use(key);
    return ++visited < kMaxRecords;
  });
  for (std::uint64_t i = 0; i < keys.size() && i < kMaxRecords; ++i) {
    std::string key;
    keys.AppendKey(i, key);
    sink = keys.Find(key).value_or(0) + keys.LowerBound(key);
  }
}

// Every answer is about a record that is there.
void SeeRecord(SuccinctStore& store, std::uint32_t record) {
  if (record >= store.records()) std::abort();
  std::string key;
  store.keys().AppendKey(record, key);
  sink = store.StampOf(record).version;
}

void Search(SuccinctStore& store, std::size_t attribute, std::string_view value) {
  std::uint32_t found = 0;
  const auto see = [&](std::uint32_t record) {
    SeeRecord(store, record);
    return ++found < kMaxRecords;
  };
  store.index().Locate(store.index().Search(attribute, value), see);
  for (std::size_t size : {std::size_t{0}, value.size() / 2, value.size()}) {
    for (const RowRange rows : store.index().SearchPrefix(attribute, value.substr(0, size))) {
      store.index().Locate(rows, see);
    }
  }
}

void ReadRecords(SuccinctStore& store) {
  RecordIndex& index = store.index();
  const std::uint32_t most = std::min(kMaxRecords, store.records());
  std::vector<std::uint32_t> records(most);
  std::iota(records.begin(), records.end(), store.records() - most);
  ValueReader reader(store);
  for (const std::uint32_t record : records) {
    SeeRecord(store, record);
    Use(reader.Get(record));
  }
  reader.GetAll(records, [](std::size_t, std::string_view value) { Use(value); });
  if (TextIndex* const text = store.text()) {
    for (const std::string_view wanted : {"", "a", "an", "|"}) {
      std::uint32_t found = 0;
      text->Locate(text->Search(wanted), [&](std::uint32_t record, std::uint64_t) {
        SeeRecord(store, record);
        return ++found < kMaxRecords;
      });
    }
  }
  for (std::size_t a = 0; a < std::min<std::size_t>(index.attributes(), 8); ++a) {
    Search(store, a, "no such value");
    for (std::uint32_t r = 0; r < std::min(most, 4U); ++r) {
      TextBuffer value;
      if (store.encoding() == Encoding::kIndex) (void)index.GetAttribute(records[r], a, value);
      Search(store, a, value.view());
    }
  }
}

void AskEverything(const std::shared_ptr<SuccinctStore>& shared) {
  SuccinctStore& store = *shared;
  ReadKeys(store.keys());
  ReadKeys(store.deleted_keys());
  for (std::uint64_t i = 0; i < store.deleted_keys().size() && i < kMaxRecords; ++i) {
    sink = store.TombstoneOf(i).deleted_at_ms;
  }
  const std::uint64_t steps = store.text() ? store.text()->bytes() : store.texts().symbols();
  if (steps > kMaxSteps) return;
  try {
    ReadRecords(store);
    for (std::size_t wanted = 1; wanted <= 3; ++wanted) {
      NewLayers layers(shared, wanted);
      if (layers.count() == 0) break;
      if (store.records() <= kMaxRecords) layers.Fill({});
      std::move(layers).Join(store);
      ReadRecords(store);
    }
  } catch (const std::bad_alloc&) {  // texts that would be longer than all of them
  }
}

}  // namespace
}  // namespace stout::blowfish

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace stout::blowfish;
  const std::vector<std::byte> bytes = FileOf(std::as_bytes(std::span(data, size)));
  const UniqueFd fd(::memfd_create("records", MFD_CLOEXEC));
  if (!fd || ::write(fd.get(), bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size())) {
    std::abort();
  }
  auto store = SuccinctStore::Open("/proc/self/fd/" + std::to_string(fd.get()), Verify::kHeader);
  if (store) AskEverything(std::move(*store));
  return 0;
}
