#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <stop_token>
#include <string_view>
#include <vector>

#include "blowfish/index/text_index.h"

namespace stout::blowfish {

/// The parts that a TextIndex refers to.
struct TextIndexParts {
  SelfIndexParts index;
  ByteAlphabet alphabet;
  std::vector<std::byte> begins;  ///< With kBitPadding.
  TextSamples::Parts samples;

  /// The parts must outlive it.
  [[nodiscard]] TextIndex View() const;
};

/// Builds the index of records of bytes, which come one at a time, in their order.
///
///     TextIndexBuilder builder(bytes, records);
///     for (std::string_view record : records) builder.Append(record);
///     const TextIndexParts parts = builder.Finish();
///     TextIndex index = parts.View();
///
/// Cost: some 0.1 us a byte.
/// Memory: twice the text. At the end it is the memory of RowOrder and of the index: 10 to 12 times
///   (bytes of text + 5 bytes a record). It is more if the text compresses badly.
/// Owner: value type.   Threads: none of its own; callers serialise.
class TextIndexBuilder {
 public:
  /// Makes room for records that have this number of bytes together.
  TextIndexBuilder(std::uint64_t bytes, std::uint64_t records) { text_.reserve(bytes + records); }

  /// At most kMaxRows bytes, and no more than divsufsort counts; see RowOrder.
  void Append(std::string_view record);

  [[nodiscard]] std::uint64_t records() const { return records_; }
  [[nodiscard]] std::uint64_t text_bytes() const { return text_.size() - records_; }

  /// The builder is of no more use. Once `stop` asks for it, it ends soon, and what it gives is of
  /// none.
  [[nodiscard]] TextIndexParts Finish(const std::stop_token& stop = {});

 private:
  std::array<bool, 256> occurs_{};
  std::vector<Symbol> text_;  // Bytes until Finish, which makes them symbols; Field::kEnd.
  std::uint64_t records_ = 0;
};

}  // namespace stout::blowfish
