#include "blowfish/store/text_store.h"

#include <utility>

#include "blowfish/store/section_arrays.h"
#include "blowfish/store/self_index_sections.h"
#include "blowfish/store/store_failures.h"
#include "blowfish/store/text_store_format.h"

namespace stout::blowfish {

struct TextStore::Parts {
  KeyDirectory keys;
  EliasFano begins;
  ByteAlphabet alphabet;
  SelfIndexSections index{.block = Psi::kLongBlock, .empty_records = true};

  // Returns true if all sections exist, with the sizes that follow from one another.
  bool Read(const IndexFile& file) {
    return ReadPart(file, text_section::kKeys, keys) &&
           ReadPart(file, text_section::kBegins, begins) &&
           ReadPart(file, text_section::kAlphabet, alphabet) && index.Read(file, keys.size()) &&
           index.symbols() == alphabet.symbols() &&
           AreBounds(begins, keys.size(), index.first_rows.back());
  }
};

TextStore::TextStore(IndexFile file, const Parts& parts)
    : file_(std::move(file)),
      keys_(parts.keys),
      index_(parts.index.View(), parts.alphabet, parts.begins) {}

Result<std::unique_ptr<TextStore>> TextStore::Open(const std::string& path, Verify verify,
                                                   Diagnostics* diagnostics) {
  Result<IndexFile> file = IndexFile::Open(path, kFileKind, kFileVersion, verify, diagnostics);
  if (!file) return file.error();
  Parts parts;
  if (!parts.Read(*file)) return FailMisfit(path, diagnostics);
  parts.index.Advise();
  return std::unique_ptr<TextStore>(new TextStore(std::move(*file), parts));
}

bool TextStore::Get(std::string_view key, TextBuffer& text) {
  const std::optional<std::uint64_t> record = keys_.Find(key);
  if (!record) return false;
  index_.Get(static_cast<std::uint32_t>(*record), text);
  return true;
}

std::vector<Space> TextStore::SpaceByPart() const {
  std::vector<Space> space = SpaceOf(file_);
  space.push_back({"layers of positions", index_.positions_at().bytes()});
  space.push_back({"layers of rows", index_.rows_of().bytes()});
  return space;
}

}  // namespace stout::blowfish
