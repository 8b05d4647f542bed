#include "blowfish/store/succinct_store.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <utility>

#include "blowfish/store/section_arrays.h"
#include "blowfish/store/self_index_sections.h"
#include "blowfish/store/store_failures.h"
#include "blowfish/store/succinct_store_format.h"
#include "blowfish/store/succinct_store_writer.h"

namespace stout::blowfish {
namespace {

bool IsRule(CutRule rule) {
  return rule.kind <= CutRule::kRuns && (rule.kind != CutRule::kChunks || rule.chunk > 0);
}

// Returns true if the symbols are in a valid order, and each record has one row among those that
// begin each attribute.
bool AreAttributes(std::span<const TokenAlphabet::Attribute> attributes,
                   std::span<const Row> first_rows, std::uint64_t records) {
  std::uint32_t begin = 0;
  for (std::size_t a = attributes.size(); a-- > 0;) {
    const TokenAlphabet::Attribute& attribute = attributes[a];
    if (attribute.first != begin || attribute.next < begin || attribute.last < attribute.next ||
        attribute.last >= first_rows.size() ||
        attribute.lacking > attribute.next - attribute.first || !IsRule(attribute.rule) ||
        first_rows[attribute.next] - first_rows[attribute.first] != records) {
      return false;
    }
    begin = attribute.last;
  }
  return begin + 1 == first_rows.size();
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
  KeyFilter key_filter;
  SelfIndexSections index;
  std::span<const TokenAlphabet::Attribute> attributes;
  std::span<const TokenAlphabet::Text> texts;
  std::span<const char> long_texts;
  std::optional<BlockTexts> blocks;
  std::optional<TextIndex> text;

  // Returns true if all sections exist, with the sizes that follow from one another.
  bool Read(const IndexFile& file, const Schema& schema) {
    if (!ReadPart(file, section::kKeys, keys) || !ReadPart(file, section::kStamps, stamps) ||
        !ReadPart(file, section::kDeletedKeys, deleted_keys) ||
        !ReadPart(file, section::kDeletedStamps, deleted_stamps) ||
        !ReadArray(file, section::kDeletedTimes, deleted_times) || !ReadBlocks(file) ||
        !ReadText(file) ||
        (file.Find(section::kKeyFilter) && !ReadPart(file, section::kKeyFilter, key_filter))) {
      return false;
    }
    const std::uint64_t indexed = blocks || text ? 0 : keys.size();
    if (!index.Read(file, indexed) || !ReadArray(file, section::kAttributes, attributes) ||
        !ReadArray(file, section::kTexts, texts) ||
        !ReadArray(file, section::kLongTexts, long_texts)) {
      return false;
    }
    const std::uint64_t records = keys.size();
    return stamps.size() == records && deleted_stamps.size() == deleted_keys.size() &&
           deleted_times.size() == deleted_keys.size() && texts.size() <= kMaxSymbols &&
           index.symbols() == texts.size() && attributes.size() == schema.size() &&
           AreAttributes(attributes, index.first_rows, indexed) &&
           AreWithin(texts, long_texts.size());
  }

  // Returns true if there are no blocks, or if they have a value for each key.
  bool ReadBlocks(const IndexFile& file) {
    BlockTexts::Parts parts;
    if (!ReadArray(file, section::kBlocks, parts.blocks)) return true;
    if (!ReadArray(file, section::kBlockDictionary, parts.dictionary) ||
        !ReadPart(file, section::kBlockBounds, parts.block_bounds) ||
        !ReadPart(file, section::kRecordBounds, parts.record_bounds) ||
        !ReadPart(file, section::kValueBounds, parts.value_bounds) ||
        parts.value_bounds.size() != keys.size() + 1) {
      return false;
    }
    auto opened = BlockTexts::Open(parts);
    if (opened) blocks = std::move(*opened);
    return opened.has_value();
  }

  // Returns true if there is no text index, or if it has a value for each key.
  bool ReadText(const IndexFile& file) {
    ByteAlphabet alphabet;
    if (!file.Find(section::kTextAlphabet)) return true;
    SelfIndexSections sections{.block = Psi::kLongBlock, .empty_records = true};
    EliasFano begins;
    std::span<const Row> rows;
    std::span<const std::uint32_t> positions;
    if (blocks || !ReadPart(file, section::kTextAlphabet, alphabet) ||
        !ReadPart(file, section::kTextBegins, begins) ||
        !sections.Read(file, keys.size(), section::kTextPrefix) ||
        !ReadArray(file, section::kTextRows, rows) ||
        !ReadArray(file, section::kTextPositions, positions)) {
      return false;
    }
    const TextSamples samples(rows, positions);
    const Row bytes = sections.first_rows.back();
    if (sections.symbols() != alphabet.symbols() || !AreBounds(begins, keys.size(), bytes) ||
        !samples.AreReadable(bytes)) {
      return false;
    }
    sections.Advise();
    text.emplace(sections.View(), alphabet, begins, samples);
    return true;
  }
};

SuccinctStore::SuccinctStore(IndexFile file, Schema schema, Parts parts)
    : file_(std::move(file)),
      schema_(std::move(schema)),
      keys_(parts.keys),
      stamps_(parts.stamps),
      deleted_keys_(parts.deleted_keys),
      deleted_stamps_(parts.deleted_stamps),
      deleted_times_(parts.deleted_times),
      key_filter_(parts.key_filter),
      symbol_texts_(kMaxSymbols * sizeof(TokenAlphabet::Text) / sizeof(std::uint64_t)),
      index_(parts.index.View(), Alphabet(parts)),
      blocks_(parts.blocks),
      text_(std::move(parts.text)) {
  if (blocks_) block_layers_.emplace(blocks_->layer_shape());
}

// The texts of the file, and empty ones, so that any symbol in Psi has a text.
TokenAlphabet SuccinctStore::Alphabet(const Parts& parts) {
  auto* const texts = reinterpret_cast<TokenAlphabet::Text*>(symbol_texts_.data());
  std::ranges::copy(parts.texts, texts);
  return {parts.attributes, std::span<const TokenAlphabet::Text>(texts, kMaxSymbols),
          parts.long_texts};
}

Result<std::unique_ptr<SuccinctStore>> SuccinctStore::Open(const std::string& path, Verify verify,
                                                           Diagnostics* diagnostics) {
  Result<IndexFile> file = IndexFile::Open(path, kFileKind, kFileVersion, verify, diagnostics);
  if (!file) return file.error();
  const auto schema_bytes = file->Find(section::kSchema);
  const Result<Schema> schema =
      schema_bytes ? DecodeSchema(*schema_bytes) : Result<Schema>(Errc::kCorrupt);
  Parts parts;
  if (!schema || !parts.Read(*file, *schema)) return FailMisfit(path, diagnostics);
  std::unique_ptr<SuccinctStore> store(
      new SuccinctStore(std::move(*file), *schema, std::move(parts)));
  if (!FitsIndex(store->value_bytes(), store->records(), schema->size())) {
    return FailMisfit(path, diagnostics);
  }
  // Where the files are larger than memory, a get reads a few pages of 4 KiB from the disk. With
  // the system's reading ahead each of them would be 128 KiB.
  store->file_.Advise(Access::kRandom);
  return store;
}

std::uint32_t SuccinctStore::EndOfPart(std::uint32_t first, std::uint64_t bytes,
                                       std::uint32_t most) const {
  if (text_) return text_->EndOfPart(first, bytes, most);
  const std::uint64_t all = std::max<std::uint64_t>(value_bytes(), 1);
  const std::uint64_t part = std::clamp<std::uint64_t>(bytes * records() / all, 1, most);
  return first + std::min(static_cast<std::uint32_t>(part), records() - first);
}

std::vector<Space> SuccinctStore::SpaceByPart() {
  std::vector<Space> space = SpaceOf(file_);
  space.push_back({"table of texts", index_.table_bytes()});
  if (text_) {
    space.push_back({"layers of positions", text_->positions_at().bytes()});
    space.push_back({"layers of rows", text_->rows_of().bytes()});
  } else {
    space.push_back({"layers of records", index_.records_at().bytes()});
    space.push_back({"layers of places", index_.places_of().bytes()});
  }
  if (block_layers_) space.push_back({"layers of blocks", block_layers_->bytes()});
  return space;
}

}  // namespace stout::blowfish
