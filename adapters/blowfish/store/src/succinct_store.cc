#include "succinct_store.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <utility>

#include "succinct_store_format.h"

namespace stout::blowfish {
namespace {

template <typename T>
bool ReadArray(const IndexFile& file, std::string_view name, std::span<const T>& array) {
  const auto bytes = file.Find(name);
  if (!bytes || bytes->size() % sizeof(T) != 0) return false;
  array = {reinterpret_cast<const T*>(bytes->data()), bytes->size() / sizeof(T)};
  return true;
}

template <typename T>
bool ReadPart(const IndexFile& file, std::string_view name, T& part) {
  const auto bytes = file.Find(name);
  if (!bytes) return false;
  auto opened = T::Open(*bytes);
  if (!opened) return false;
  part = std::move(*opened);
  return true;
}

constexpr std::uint64_t Blocks(std::uint64_t rows, std::uint64_t block) {
  return (rows + block - 1) / block;
}

bool AreContiguous(std::span<const TokenAlphabet::Attribute> attributes, std::uint64_t symbols) {
  std::uint32_t begin = 0;
  for (std::size_t a = attributes.size(); a-- > 0;) {
    const TokenAlphabet::Attribute& attribute = attributes[a];
    if (attribute.first != begin || attribute.next < begin || attribute.last < attribute.next ||
        attribute.first + attribute.lacking > attribute.next) {
      return false;
    }
    begin = attribute.last;
  }
  return begin == symbols;
}

bool AreWithin(std::span<const TokenAlphabet::Text> texts, std::uint64_t long_bytes) {
  return std::ranges::all_of(texts, [&](const TokenAlphabet::Text& text) {
    if (text.size != TokenAlphabet::Text::kLong) return text.size <= sizeof text.bytes;
    std::uint32_t size;
    std::uint64_t place;
    std::memcpy(&size, text.bytes, sizeof size);
    std::memcpy(&place, text.bytes + sizeof size, sizeof place);
    return place <= long_bytes && size <= long_bytes - place;
  });
}

}  // namespace

struct SuccinctStore::Parts {
  KeyDirectory keys;
  StampColumn stamps;
  KeyDirectory deleted_keys;
  StampColumn deleted_stamps;
  std::span<const std::uint64_t> deleted_times;
  std::span<const Psi::Entry> psi_entries;
  std::span<const std::byte> psi_numbers;
  std::span<const Row> first_rows;
  std::span<const FramedArray::Entry> start_entries;
  std::span<const std::byte> start_numbers;
  std::span<const TokenAlphabet::Attribute> attributes;
  std::span<const TokenAlphabet::Text> texts;
  std::span<const char> long_texts;

  // Whether all are there, and as large as they must be for one another.
  bool Read(const IndexFile& file, const Schema& schema) {
    if (!ReadPart(file, section::kKeys, keys) || !ReadPart(file, section::kStamps, stamps) ||
        !ReadPart(file, section::kDeletedKeys, deleted_keys) ||
        !ReadPart(file, section::kDeletedStamps, deleted_stamps) ||
        !ReadArray(file, section::kDeletedTimes, deleted_times) ||
        !ReadArray(file, section::kPsiEntries, psi_entries) ||
        !ReadArray(file, section::kPsiNumbers, psi_numbers) ||
        !ReadArray(file, section::kFirstRows, first_rows) ||
        !ReadArray(file, section::kStartEntries, start_entries) ||
        !ReadArray(file, section::kStartNumbers, start_numbers) ||
        !ReadArray(file, section::kAttributes, attributes) ||
        !ReadArray(file, section::kTexts, texts) ||
        !ReadArray(file, section::kLongTexts, long_texts)) {
      return false;
    }
    const std::uint64_t records = keys.size();
    return records < kMaxRows && stamps.size() == records &&
           deleted_stamps.size() == deleted_keys.size() &&
           deleted_times.size() == deleted_keys.size() && !first_rows.empty() &&
           first_rows.front() == 0 && std::ranges::is_sorted(first_rows) &&
           first_rows.back() < kMaxRows && first_rows.size() == texts.size() + 1 &&
           psi_entries.size() == Blocks(first_rows.back(), Psi::kBlock) &&
           psi_numbers.size() >= Psi::kPadding &&
           start_entries.size() == Blocks(records, FramedArray::kFrame) + 1 &&
           attributes.size() == schema.size() && AreContiguous(attributes, texts.size()) &&
           AreWithin(texts, long_texts.size());
  }

  [[nodiscard]] TokenAlphabet Alphabet() const { return {attributes, texts, long_texts}; }

  // Each symbol prints its text in each of its rows.
  [[nodiscard]] std::uint64_t ValueBytes() const {
    const TokenAlphabet alphabet = Alphabet();
    std::uint64_t bytes = 0;
    for (std::size_t s = 0; s < alphabet.symbols(); ++s) {
      const std::uint64_t rows = first_rows[s + 1] - first_rows[s];
      bytes += rows * alphabet.Print(static_cast<Symbol>(s)).size();
    }
    return bytes;
  }

  [[nodiscard]] SelfIndex Index() const {
    return {Psi(psi_entries, psi_numbers.data(), first_rows.back()), first_rows,
            FramedArray(start_entries, start_numbers.data()),
            static_cast<std::uint32_t>(keys.size())};
  }
};

SuccinctStore::SuccinctStore(IndexFile file, Schema schema, const Parts& parts,
                             ReclaimDomain& domain)
    : file_(std::move(file)),
      schema_(std::move(schema)),
      keys_(parts.keys),
      stamps_(parts.stamps),
      deleted_keys_(parts.deleted_keys),
      deleted_stamps_(parts.deleted_stamps),
      deleted_times_(parts.deleted_times),
      value_bytes_(parts.ValueBytes()),
      symbols_(parts.first_rows.back()),
      index_(parts.Index(), parts.Alphabet(), domain) {}

Result<std::unique_ptr<SuccinctStore>> SuccinctStore::Open(const std::string& path,
                                                           ReclaimDomain& domain, Verify verify,
                                                           Diagnostics* diagnostics) {
  Result<IndexFile> file = IndexFile::Open(path, kFileKind, kFileVersion, verify, diagnostics);
  if (!file) return file.error();
  const auto schema_bytes = file->Find(section::kSchema);
  const Result<Schema> schema =
      schema_bytes ? DecodeSchema(*schema_bytes) : Result<Schema>(Errc::kCorrupt);
  Parts parts;
  if (!schema || !parts.Read(*file, *schema)) {
    if (diagnostics) {
      diagnostics->message =
          fmt::format("{}: its parts do not fit each other; restore it from a copy", path);
    }
    return Errc::kCorrupt;
  }
  return std::unique_ptr<SuccinctStore>(
      new SuccinctStore(std::move(*file), *schema, parts, domain));
}

std::vector<Space> SuccinctStore::SpaceByPart() const {
  std::vector<Space> space;
  std::uint64_t sections = 0;
  for (const IndexFile::Section& s : file_.sections()) {
    space.push_back({s.name, s.bytes.size()});
    sections += s.bytes.size();
  }
  space.push_back({"file", file_.bytes() - sections});
  space.push_back({"layers of records", index_.records_at().bytes()});
  space.push_back({"layers of places", index_.places_of().bytes()});
  return space;
}

}  // namespace stout::blowfish
