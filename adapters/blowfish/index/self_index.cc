#include "blowfish/index/self_index.h"

#include <numeric>
#include <utility>

#include "blowfish/index/row_order.h"

namespace stout::blowfish {
namespace {

std::vector<Row> FirstRows(const std::vector<Field>& fields) {
  std::vector<Row> first_rows{0};
  for (auto field = fields.rbegin(); field != fields.rend(); ++field) {
    const std::size_t before = first_rows.size();
    first_rows.resize(before + field->symbols);
    for (const Symbol symbol : field->text) {
      if (symbol != Field::kEnd) ++first_rows[before + symbol];
    }
  }
  std::partial_sum(first_rows.begin(), first_rows.end(), first_rows.begin());
  return first_rows;
}

}  // namespace

RowRange SelfIndex::Precede(Symbol symbol, RowRange next) const {
  const RowRange rows = RowsOf(symbol, symbol + 1U);
  const Row first = psi_.LowerBound(symbol, rows.first, rows.last, next.first);
  // Each row has a next row of its own.
  const Row most = first + std::min(next.size(), rows.last - first);
  return {first, psi_.LowerBound(symbol, first, most, next.last)};
}

SelfIndexParts BuildSelfIndex(std::vector<Field> fields, std::uint32_t records, std::uint32_t block,
                              const std::stop_token& stop, TextSamples::Parts* samples) {
  SelfIndexParts parts{.first_rows = FirstRows(fields), .records = records};
  PsiWriter psi(block);
  RowOrder order(records, parts.first_rows.back(), psi);
  for (; !fields.empty(); fields.pop_back()) {
    order.Prepend(std::move(fields.back()), stop, samples);
    if (stop.stop_requested()) return parts;
  }
  parts.psi = psi.Finish();
  parts.starts = FramedArray::Build(order.starts());
  return parts;
}

}  // namespace stout::blowfish
