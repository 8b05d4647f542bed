#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "blowfish/file/index_file.h"
#include "blowfish/index/key_directory.h"
#include "blowfish/index/text_buffer.h"
#include "blowfish/index/text_index.h"
#include "blowfish/store/space.h"
#include "stout/error.h"

namespace stout::blowfish {

/// Texts by key that no longer change, compressed in one file, which is mapped and read in place.
/// Any part of a text can be read, and any substring found. A text is any bytes. Their meaning, and
/// attributes, are up to the caller. For records that are searched by attribute alone,
/// SuccinctStore is smaller and faster.
///
/// Texts are numbered in the byte order of their keys.
///
///     auto store = TextStore::Open(path, Verify::kEverything, &why);
///     if (!store) return store.error();
///     TextIndex& index = (*store)->index();
///     if (auto record = (*store)->keys().Find("ann")) index.Extract(*record, 100, 20, text);
///     RowRange rows = index.Search("ro");  // rows.size() is how often it occurs
///     index.Locate(rows, [&](std::uint32_t record, std::uint64_t offset) {
///       ...;
///       return --most > 0;
///     });
///
/// Threads: one at a time, because queries fill the layers.
/// Paper: BlowFish (NSDI'16) Section 2, after Succinct (NSDI'15) Section 3, "flat files".
class TextStore {
 public:
  static constexpr std::string_view kFileKind = "texts";
  static constexpr std::uint32_t kFileVersion = 1;

  /// Errors: kCorrupt if the file is not what a writer published. For the others see IndexFile.
  ///
  /// Verify::kHeader detects a file that was cut, lengthened or replaced, and parts that do not
  /// match. It does not detect changed bytes: use it for files that were fully verified before.
  [[nodiscard]] static Result<std::unique_ptr<TextStore>> Open(const std::string& path,
                                                               Verify verify = Verify::kEverything,
                                                               Diagnostics* diagnostics = nullptr);

  [[nodiscard]] std::uint32_t records() const { return index_.records(); }
  [[nodiscard]] const KeyDirectory& keys() const { return keys_; }
  [[nodiscard]] TextIndex& index() { return index_; }

  /// Appends the text of a key. False: there is none such.
  [[nodiscard]] bool Get(std::string_view key, TextBuffer& text);

  [[nodiscard]] std::uint64_t file_bytes() const { return file_.bytes(); }
  /// Space of the file, by part, and of the layers.
  [[nodiscard]] std::vector<Space> SpaceByPart() const;

 private:
  struct Parts;

  TextStore(IndexFile file, const Parts& parts);

  IndexFile file_;
  KeyDirectory keys_;
  TextIndex index_;
};

}  // namespace stout::blowfish
