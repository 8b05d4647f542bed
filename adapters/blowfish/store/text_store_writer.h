#pragma once

#include <cstdint>
#include <stop_token>
#include <string>
#include <string_view>

#include "blowfish/index/key_directory_writer.h"
#include "blowfish/index/text_index_builder.h"
#include "blowfish/store/text_store.h"
#include "stout/error.h"

namespace stout::blowfish {

/// Writes the file of a TextStore from texts that come in strictly ascending order of their keys.
///
///     TextStoreWriter writer;
///     while (...) writer.Append(key, text);
///     if (ErrorCode error = writer.Finish(path, &why)) ...
///
/// Memory: 10 to 12 bytes a byte of text, see TextIndexBuilder; the keys, encoded.
/// Threads: none of its own; callers serialise.
class TextStoreWriter {
 public:
  void Append(std::string_view key, std::string_view text);

  [[nodiscard]] std::uint64_t records() const { return builder_.records(); }
  [[nodiscard]] std::uint64_t text_bytes() const { return builder_.text_bytes(); }

  /// Returns true if one index can hold the texts so far: half a GiB, less one byte per record.
  [[nodiscard]] bool fits() const;

  /// Builds the index and publishes the file. The writer cannot be used afterwards.
  /// Errors: kBadOptions if the keys were not in order. kTooLarge if it does not fit. kTransient if
  ///   it was asked to stop, which takes at most some seconds. For the others see IndexFileWriter.
  [[nodiscard]] ErrorCode Finish(const std::string& path, Diagnostics* diagnostics = nullptr,
                                 const std::stop_token& stop = {});

 private:
  KeyDirectoryWriter keys_;
  TextIndexBuilder builder_;
};

}  // namespace stout::blowfish
