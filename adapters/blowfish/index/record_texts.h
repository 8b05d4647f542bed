#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "blowfish/index/lock_step.h"
#include "blowfish/index/self_index.h"
#include "blowfish/index/text_buffer.h"
#include "blowfish/index/token_alphabet.h"

namespace stout::blowfish {

/// The part of a RecordIndex that never changes: the symbols of all records, and the texts that
/// they print. It has no layers, so a reader of it neither uses nor fills any.
///
///     RecordTexts::Reader reader(texts);
///     reader.GetAll(records, [&](std::size_t i, std::string_view value) { ...; });
///
/// Owner: the memory behind the spans of `index` and `alphabet` outlives it.
/// Threads: any. Each has readers of its own.
class RecordTexts {
 public:
  class Reader;

  RecordTexts(SelfIndex index, TokenAlphabet alphabet);

  [[nodiscard]] const SelfIndex& index() const { return index_; }
  [[nodiscard]] const TokenAlphabet& alphabet() const { return alphabet_; }

  [[nodiscard]] std::uint32_t records() const { return index_.records(); }
  [[nodiscard]] std::uint64_t symbols() const { return index_.rows(); }
  /// Bytes of the values of all records.
  [[nodiscard]] std::uint64_t value_bytes() const { return value_bytes_; }

  /// Appends the text of a symbol.
  void Print(Symbol symbol, TextBuffer& value) const {
    const TokenAlphabet::Text& text = alphabet_.text(symbol);
    if (text.size != TokenAlphabet::Text::kLong) {
      value.AppendShort(text.bytes, text.size);
    } else {
      value.Append(alphabet_.Print(symbol));
    }
  }

 private:
  SelfIndex index_;
  TokenAlphabet alphabet_;
  std::uint64_t value_bytes_;
};

/// Reads whole records, each by one walk from its start, kWalks of them in lock step.
///
/// It keeps memory for the text of kWalks records.
/// Owner: the texts outlive it.   Threads: one at a time.
class RecordTexts::Reader {
 public:
  explicit Reader(const RecordTexts& texts) : texts_(texts) {
    for (TextBuffer& buffer : buffers_) buffer = TextBuffer(texts.value_bytes());
  }

  /// Calls visit(i, value) for each of the records, in any order. The value lasts for the call.
  template <typename Visit>
  void GetAll(std::span<const std::uint32_t> records, Visit visit) {
    GetAll(records, visit, [](Row, std::uint32_t) {});
  }
  /// Also calls pass(row, record) for each row that a walk passes.
  template <typename Visit, typename Pass>
  void GetAll(std::span<const std::uint32_t> records, Visit visit, Pass pass);

  /// Frees the memory of large values.
  void FreeIfLarge() {
    for (TextBuffer& buffer : buffers_) buffer.FreeIfLarge();
  }

  /// Texts of the walks under way, by lane.
  [[nodiscard]] std::array<TextBuffer, kWalks>& buffers() { return buffers_; }

 private:
  const RecordTexts& texts_;
  std::array<TextBuffer, kWalks> buffers_;
};

template <typename Visit, typename Pass>
void RecordTexts::Reader::GetAll(std::span<const std::uint32_t> records, Visit visit, Pass pass) {
  const SelfIndex& index = texts_.index();
  std::array<std::size_t, kWalks> reading;
  std::size_t next = 0;
  const auto begin = [&](std::size_t lane) -> std::optional<Row> {
    if (next == records.size()) return std::nullopt;
    reading[lane] = next++;
    buffers_[lane].Clear();
    if (next + kWalks < records.size()) index.PrefetchStart(records[next + kWalks]);
    return index.Start(records[reading[lane]]);
  };
  WalkInLockStep(index.psi(), begin, [&](std::size_t lane, const Psi::Cursor& cursor) {
    const std::size_t i = reading[lane];
    texts_.Print(cursor.symbol, buffers_[lane]);
    pass(cursor.row, records[i]);
    if (!index.IsEnd(cursor.next)) return true;
    visit(i, buffers_[lane].view());
    return false;
  });
}

}  // namespace stout::blowfish
