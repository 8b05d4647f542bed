#include "blowfish/store/text_store_writer.h"

#include <fmt/format.h>

#include <cstddef>
#include <vector>

#include "blowfish/file/index_file_writer.h"
#include "blowfish/store/section_arrays.h"
#include "blowfish/store/self_index_sections.h"
#include "blowfish/store/store_failures.h"
#include "blowfish/store/succinct_store_writer.h"
#include "blowfish/store/text_store_format.h"
#include "stout/adapters/store_url.h"

namespace stout::blowfish {

void TextStoreWriter::Append(std::string_view key, std::string_view text) {
  keys_.Append(key);
  builder_.Append(text);
}

bool TextStoreWriter::fits() const { return FitsIndex(text_bytes(), records(), 1); }

ErrorCode TextStoreWriter::Finish(const std::string& path, Diagnostics* diagnostics,
                                  const std::stop_token& stop) {
  if (!fits()) {
    return Fail(
        Errc::kTooLarge,
        fmt::format("{}: {} texts of {} bytes are more than one index can hold; write several "
                    "files",
                    path, records(), text_bytes()),
        diagnostics);
  }
  const Result<std::vector<std::byte>> keys = FinishKeys(keys_, path, diagnostics);
  if (!keys) return keys.error();
  Result<IndexFileWriter> file =
      IndexFileWriter::Create(path, TextStore::kFileKind, TextStore::kFileVersion, diagnostics);
  if (!file) return file.error();
  const TextIndexParts parts = builder_.Finish(stop);
  if (stop.stop_requested()) return FailStopped(path, diagnostics);
  file->Add(text_section::kKeys, *keys);
  file->Add(text_section::kBegins, Unpadded(parts.begins, kBitPadding));
  file->Add(text_section::kAlphabet, parts.alphabet.Encode());
  SelfIndexSections::Write(parts.index, *file);
  if (stop.stop_requested()) return FailStopped(path, diagnostics);
  return file->Publish(diagnostics);
}

}  // namespace stout::blowfish
