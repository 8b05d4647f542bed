#include "blowfish/index/record_reader.h"

namespace stout::blowfish {

std::size_t RecordReader::FindBegins(std::uint32_t record, Begins& begins) const {
  begins[0] = index_.self_index().Start(record);
  std::size_t walks = 1;
  const LayeredSampledArray& places = index_.places_of();
  const std::uint32_t distance = places.finest();
  const std::uint32_t attributes = index_.anchors_.attributes();
  // The first attribute begins where the record does; the implied layer has but the end.
  if (distance == 0 || distance >= attributes) return walks;
  for (std::uint32_t ordinal = (attributes - 1) / distance * distance;
       ordinal > 0 && walks < begins.size(); ordinal -= distance) {
    if (const auto place = places.Find(places.shape().Index(record, ordinal))) {
      begins[walks++] = index_.anchors_.RowOf({ordinal, static_cast<Row>(*place)});
    }
  }
  return walks;
}

std::string_view RecordReader::Get(std::uint32_t record) {
  RecordIndex::Teller teller(index_.anchors_, index_.layers_);
  std::array<TextBuffer, kWalks>& texts = reader_.buffers();
  Begins begins;
  const std::size_t walks = FindBegins(record, begins);
  std::size_t next = 0;
  const auto begin = [&](std::size_t lane) -> std::optional<Row> {
    if (next == walks) return std::nullopt;
    texts[lane].Clear();
    return begins[next++];
  };
  // A walk is in the lane of its number, for there are as many lanes. It ends where the next
  // begins.
  const auto end = [&](std::size_t lane) {
    return lane + 1 < walks ? begins[lane + 1] : index_.self_index().rows() + record;
  };
  WalkInLockStep(index_.self_index().psi(), begin,
                 [&](std::size_t lane, const Psi::Cursor& cursor) {
                   index_.texts().Print(cursor.symbol, texts[lane]);
                   teller.Pass(cursor.row, record);
                   return cursor.next != end(lane) && !index_.self_index().IsEnd(cursor.next);
                 });
  teller.Finish();
  for (std::size_t lane = 1; lane < walks; ++lane) texts[0].Append(texts[lane].view());
  return texts[0].view();
}

}  // namespace stout::blowfish
