#include "blowfish/index/row_order.h"

#include <divsufsort.h>

#include <algorithm>
#include <cassert>
#include <memory>
#include <new>
#include <numeric>
#include <utility>

#include "blowfish/index/abandonable.h"
#include "blowfish/index/symbol_code.h"

namespace stout::blowfish {
namespace {

constexpr Row kNoRow = std::numeric_limits<Row>::max();

// A field's text as bytes whose order is that of its suffixes. A symbol becomes its code. A
// record's end becomes the byte that begins no code, and the row that follows, the highest byte
// first.
class SortableText {
 public:
  // All ends come before the symbols, or all after them: whichever way the rows that follow are
  // numbered.
  SortableText(const Field& field, const std::vector<Row>& following, bool ends_are_highest)
      : code_(field, ends_are_highest ? 0 : 1), end_(ends_are_highest ? 0xff : 0) {
    const auto [lowest, highest] = std::minmax_element(following.begin(), following.end());
    lowest_following_ = *lowest;
    row_bytes_ = (BitWidth(*highest - *lowest) + 7) / 8;
    bytes_.reserve(code_.text_bytes() + following.size() * (1 + row_bytes_));
    auto next = following.begin();
    for (const Symbol symbol : field.text) {
      if (symbol != Field::kEnd) {
        code_.Append(symbol, bytes_);
      } else {
        bytes_.push_back(end_);
        PutRow(*next++ - lowest_following_);
      }
    }
    assert(next == following.end());
  }

  [[nodiscard]] std::size_t size() const { return bytes_.size(); }
  [[nodiscard]] const std::uint8_t* data() const { return bytes_.data(); }

  // Calls visit(place, is_end) for each symbol and each end, in their order.
  template <typename Visit>
  void ForEach(Visit visit) const {
    for (std::size_t place = 0; place < bytes_.size();) {
      const bool is_end = bytes_[place] == end_;
      visit(place, is_end);
      place = is_end ? place + 1 + row_bytes_ : After(place);
    }
  }

  [[nodiscard]] Symbol SymbolAt(std::size_t place) const { return code_.SymbolAt(&bytes_[place]); }
  // The place after a symbol's.
  [[nodiscard]] std::size_t After(std::size_t place) const {
    return place + code_.BytesOf(bytes_[place]);
  }
  [[nodiscard]] Row FollowingAt(std::size_t end) const {
    Row row = 0;
    for (int i = 1; i <= row_bytes_; ++i) row = row << 8 | bytes_[end + i];
    return lowest_following_ + row;
  }

 private:
  void PutRow(Row row) {
    for (int i = row_bytes_; i-- > 0;) bytes_.push_back(static_cast<std::uint8_t>(row >> (8 * i)));
  }

  SymbolCode code_;
  std::uint8_t end_;
  Row lowest_following_ = 0;
  int row_bytes_ = 0;
  std::vector<std::uint8_t> bytes_;
};

// The places of a text in the order of the suffixes that begin there.
struct SuffixSort {
  explicit SuffixSort(SortableText sortable) : text(std::move(sortable)), places(text.size()) {}
  void operator()() {
    const auto size = static_cast<saidx_t>(text.size());
    failed = divsufsort(text.data(), places.data(), size) != 0;
  }

  const SortableText text;
  std::vector<saidx_t> places;
  bool failed = false;
};

/// Size of a text that is sorted in a tenth of a second, before a caller that waits for its end
/// loses patience.
constexpr std::size_t kSoonSorted = std::size_t{1} << 20;

// False: it was told to stop.
bool Sort(const std::shared_ptr<SuffixSort>& sort, const std::stop_token& stop) {
  if (!stop.stop_possible() || sort->text.size() < kSoonSorted) {
    (*sort)();
  } else if (!RunAbandonably(sort, stop)) {
    return false;
  }
  if (sort->failed) throw std::bad_alloc();
  return true;
}

}  // namespace

RowOrder::RowOrder(std::uint32_t records, Row rows, PsiWriter& psi) : psi_(psi), starts_(records) {
  std::iota(starts_.begin(), starts_.end(), rows);
}

void RowOrder::Prepend(Field field, const std::stop_token& stop, TextSamples::Parts* samples) {
  if (starts_.empty() || stop.stop_requested()) return;
  const std::size_t symbols = field.symbols;
  if (field.one_each) {
    PrependOneEach(field, stop);
  } else {
    PrependText(std::move(field), stop, samples);
  }
  first_symbol_ += symbols;
}

// By what follows first, which is an order that the rows tell, then by the symbol, which keeps it.
void RowOrder::PrependOneEach(const Field& field, const std::stop_token& stop) {
  const std::size_t records = starts_.size();
  assert(field.text.size() == records);
  const Row lowest = *std::min_element(starts_.begin(), starts_.end());
  std::vector<std::uint32_t> record_at(records);
  for (std::uint32_t record = 0; record < records; ++record) {
    assert(starts_[record] - lowest < records);
    record_at[starts_[record] - lowest] = record;
  }
  std::vector<std::uint32_t> end_of(field.symbols + 1);
  for (const Symbol symbol : field.text) ++end_of[symbol + 1];
  std::partial_sum(end_of.begin(), end_of.end(), end_of.begin());

  std::vector<Row> next(records);
  const Row first = static_cast<Row>(psi_.rows());
  for (std::uint32_t i = 0; i < records && !stop.stop_requested(); ++i) {
    const std::uint32_t record = record_at[i];
    const std::uint32_t place = end_of[field.text[record]]++;
    next[place] = lowest + i;
    starts_[record] = first + place;
  }
  if (stop.stop_requested()) return;
  std::uint32_t place = 0;
  for (std::uint32_t symbol = 0; symbol < field.symbols; ++symbol) {
    for (; place < end_of[symbol]; ++place) {
      psi_.Append(static_cast<Symbol>(first_symbol_ + symbol), next[place]);
    }
  }
}

void RowOrder::PrependText(Field field, const std::stop_token& stop, TextSamples::Parts* samples) {
  const Row first = static_cast<Row>(psi_.rows());
  if (samples != nullptr) samples->Reset(field.rows(starts_.size()));
  const auto sort =
      std::make_shared<SuffixSort>(SortableText(field, starts_, starts_.front() > first));
  field = {};  // The sort needs the memory.
  const SortableText& text = sort->text;
  // The row of the symbol that begins at a place in the bytes; at first only a mark.
  std::vector<Row> row_at(text.size(), kNoRow);
  text.ForEach([&](std::size_t place, bool is_end) {
    if (!is_end) row_at[place] = first;
  });

  if (stop.stop_requested() || !Sort(sort, stop)) return;
  Row row = first;
  for (const saidx_t at : sort->places) {
    if (stop.stop_requested()) return;
    if (row_at[at] != kNoRow) row_at[at] = row++;
  }
  for (const saidx_t at : sort->places) {
    if (stop.stop_requested()) return;
    if (row_at[at] == kNoRow) continue;
    const std::size_t after = text.After(at);
    const Row next = row_at[after] != kNoRow ? row_at[after] : text.FollowingAt(after);
    psi_.Append(static_cast<Symbol>(first_symbol_ + text.SymbolAt(at)), next);
  }

  // A record without a symbol here begins with what follows.
  std::size_t record = 0;
  bool at_start = true;
  std::uint32_t position = 0;
  text.ForEach([&](std::size_t place, bool is_end) {
    if (at_start && !is_end) starts_[record] = row_at[place];
    if (samples != nullptr && !is_end) samples->Add(position++, row_at[place]);
    at_start = is_end;
    record += is_end;
  });
}

}  // namespace stout::blowfish
