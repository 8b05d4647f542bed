#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "blowfish/index/lock_step.h"
#include "blowfish/index/record_index.h"
#include "blowfish/index/record_texts.h"

namespace stout::blowfish {

/// Reads records of an index, and fills its layers with what it passes.
///
/// Many records are read in lock step. A single one is, too, where the layers of places know some
/// of its attributes: then a walk begins at each of those.
///
/// Cost: of each walk, a step a symbol. It keeps memory for the text of kWalks records.
/// Owner: the index outlives it.   Threads: that of the index.
class RecordReader {
 public:
  explicit RecordReader(RecordIndex& index) : index_(index), reader_(index.texts()) {}

  /// The value of a record, until the next call.
  [[nodiscard]] std::string_view Get(std::uint32_t record);

  /// Calls visit(i, value) for each of the records, in any order. The value lasts for the call.
  template <typename Visit>
  void GetAll(std::span<const std::uint32_t> records, Visit visit);

  /// Frees the memory of large values, which are gone then.
  void FreeIfLarge() { reader_.FreeIfLarge(); }

 private:
  // Starts of the walks of one record: its start, then the known places.
  using Begins = std::array<Row, kWalks>;
  [[nodiscard]] std::size_t FindBegins(std::uint32_t record, Begins& begins) const;

  RecordIndex& index_;
  RecordTexts::Reader reader_;
};

template <typename Visit>
void RecordReader::GetAll(std::span<const std::uint32_t> records, Visit visit) {
  RecordIndex::Teller teller(index_.anchors_, index_.layers_);
  reader_.GetAll(records, visit, [&](Row row, std::uint32_t record) { teller.Pass(row, record); });
  teller.Finish();
}

}  // namespace stout::blowfish
