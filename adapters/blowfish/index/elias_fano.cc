#include "blowfish/index/elias_fano.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include "blowfish/index/select.h"

namespace stout::blowfish {
namespace {

constexpr std::uint64_t kEliasFanoHeaderBytes = 4 * 8;

// With these, the samples of a billion numbers take at most 0.25 bit each. Between two samples
// there are ten words of upper, of which half are read on average.
constexpr std::uint64_t kOnesPerSample = 256;
constexpr std::uint64_t kZerosPerSample = 512;

// Samples that lie farther apart than this, in bits, are uneven: even ones are 768 apart.
constexpr std::uint64_t kFar = 2048;

constexpr std::uint64_t DivideUp(std::uint64_t number, std::uint64_t by) {
  return number / by + (number % by != 0);
}

// Returns the place of the one of rank `rank`, counted from bit `from` on. It must exist.
template <int (*kSelect)(std::uint64_t, int)>
[[gnu::always_inline]] inline std::uint64_t ScanWith(const std::byte* bits, std::uint64_t from,
                                                     std::uint64_t rank, std::uint64_t flip) {
  std::uint64_t at = from / 64 * 64;
  std::uint64_t word = (LoadWord(bits + at / 8) ^ flip) & (~std::uint64_t{0} << (from % 64));
  for (;;) {
    const std::uint64_t ones = __builtin_popcountll(word);
    if (rank < ones) return at + kSelect(word, static_cast<int>(rank));
    rank -= ones;
    at += 64;
    word = LoadWord(bits + at / 8) ^ flip;
  }
}

#if defined(__x86_64__)
[[gnu::target("bmi,bmi2,popcnt")]] std::uint64_t ScanBmi2(const std::byte* bits, std::uint64_t from,
                                                          std::uint64_t rank, std::uint64_t flip) {
  return ScanWith<SelectBmi2>(bits, from, rank, flip);
}
#endif

std::uint64_t Scan(const std::byte* bits, std::uint64_t from, std::uint64_t rank,
                   std::uint64_t flip) {
#if defined(__x86_64__)
  if (HasBmi2()) return ScanBmi2(bits, from, rank, flip);
#endif
  return ScanWith<SelectPortable>(bits, from, rank, flip);
}

// Calls visit(place) for the ones of rank 0, `every`, twice `every`... among `size` bits. Returns
// the number of ones. every >= 64: no word has two of them.
template <typename Visit>
std::uint64_t Sample(const std::byte* bits, std::uint64_t size, std::uint64_t flip,
                     std::uint64_t every, Visit visit) {
  std::uint64_t seen = 0;
  std::uint64_t next = 0;
  for (std::uint64_t at = 0; at < size; at += 64) {
    std::uint64_t word = LoadWord(bits + at / 8) ^ flip;
    if (size - at < 64) word = LowBits(word, static_cast<int>(size - at));
    const std::uint64_t ones = std::popcount(word);
    if (next < seen + ones) {
      visit(at + Select(word, static_cast<int>(next - seen)));
      next += every;
    }
    seen += ones;
  }
  return seen;
}

}  // namespace

EliasFano::Shape EliasFano::Shape::Of(std::uint64_t size, std::uint64_t first, std::uint64_t last) {
  Shape shape{size, first, last};
  if (size == 0) return shape;
  const int width = BitWidth((last - first) / size) - 1;
  // A few huge gaps would ask for more than can be read at once; the zeros that this adds are few.
  shape.low_width = std::clamp(width, 0, kMaxBitWidth);
  return shape;
}

// One ends each of the rests 0, 1, ... up to that of the last number.
std::uint64_t EliasFano::Shape::zeros() const {
  return size == 0 ? 0 : ((last - first) >> low_width) + 1;
}

std::uint64_t EliasFano::Shape::one_sample_bytes() const {
  return PackedBytes(DivideUp(size, kOnesPerSample), sample_width());
}

std::uint64_t EliasFano::Shape::zero_sample_bytes() const {
  return PackedBytes(DivideUp(zeros(), kZerosPerSample), sample_width());
}

std::uint64_t EliasFano::Shape::bytes() const {
  return kEliasFanoHeaderBytes + upper_bytes() + one_sample_bytes() + zero_sample_bytes() +
         PackedBytes(size, low_width);
}

EliasFano::EliasFano(const Shape& shape, const std::byte* data)
    : first_(shape.first), last_(shape.last), upper_(data + kEliasFanoHeaderBytes) {
  const std::byte* at = upper_ + shape.upper_bytes();
  ones_ = {kOnesPerSample, 0, shape.size, PackedArray(at, shape.sample_width())};
  at += shape.one_sample_bytes();
  zeros_ = {kZerosPerSample, ~std::uint64_t{0}, shape.zeros(),
            PackedArray(at, shape.sample_width())};
  at += shape.zero_sample_bytes();
  lower_ = PackedArray(at, shape.low_width);
}

Result<EliasFano> EliasFano::Open(std::span<const std::byte> bytes) {
  if (bytes.size() < kEliasFanoHeaderBytes) return Errc::kCorrupt;
  const auto word = [&](int index) { return LoadWord(bytes.data() + 8 * index); };
  Shape shape{word(0), word(1), word(2)};
  if (word(3) > kMaxBitWidth) return Errc::kCorrupt;
  shape.low_width = static_cast<int>(word(3));
  // Each one and each zero takes a bit: beyond that, sums of sizes could overflow.
  const std::uint64_t bits = bytes.size() * 8;
  if (shape.last < shape.first || (shape.size == 0 && shape.last != 0) || shape.size > bits ||
      (shape.last - shape.first) >> shape.low_width > bits || shape.bytes() != bytes.size()) {
    return Errc::kCorrupt;
  }
  EliasFano sequence(shape, bytes.data());
  if (!sequence.IsRight(sequence.ones_) || !sequence.IsRight(sequence.zeros_)) {
    return Errc::kCorrupt;
  }
  return sequence;
}

// Returns true if the number of bits of a kind is right, and its samples are at their places.
bool EliasFano::IsRight(const Samples& samples) const {
  const std::uint64_t stored = DivideUp(samples.total, samples.every);
  std::uint64_t sample = 0;
  bool right = true;
  const std::uint64_t bits = Sample(
      upper_, ones_.total + zeros_.total, samples.flip, samples.every, [&](std::uint64_t place) {
        right = right && sample < stored && samples.places[sample] == place;
        ++sample;
      });
  return right && bits == samples.total;
}

// Returns the place of the bit of one kind with this rank. Before bit p of upper, the number of
// bits of the other kind is p less that of the one kind. Therefore each kind's samples are also
// samples of the other.
std::uint64_t EliasFano::Select(const Samples& own, const Samples& other,
                                std::uint64_t rank) const {
  const std::uint64_t sample = rank / own.every;
  std::uint64_t from = own.places[sample];
  std::uint64_t passed = sample * own.every;
  const std::uint64_t next = std::min(passed + own.every, own.total);
  const std::uint64_t to = next < own.total ? own.places[sample + 1] : own.total + other.total;
  if (to - from > kFar) {
    // Returns the last of the other kind's samples between the two that is not behind the target.
    const std::uint64_t begin = (from - passed) / other.every;
    std::uint64_t low = begin;
    std::uint64_t high = DivideUp(to - next, other.every);
    while (low < high) {
      const std::uint64_t middle = low + (high - low) / 2;
      if (other.places[middle] - middle * other.every <= rank) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    if (low > begin && other.places[low - 1] > from) {
      from = other.places[low - 1];
      passed = from - (low - 1) * other.every;
    }
  }
  return Scan(upper_, from, rank - passed, own.flip);
}

std::uint64_t EliasFano::operator[](std::uint64_t index) const {
  assert(index < size());
  return Number(Select(ones_, zeros_, index) - index, index);
}

// The numbers with this rest: the ones between two zeros.
EliasFano::Range EliasFano::WithRest(std::uint64_t rest) const {
  const std::uint64_t from = rest == 0 ? 0 : Select(zeros_, ones_, rest - 1) + 1;
  const int ones = std::countr_one(ReadBits(upper_, from, kMaxBitWidth));
  const std::uint64_t to = ones < kMaxBitWidth ? from + ones : Select(zeros_, ones_, rest);
  return {from - rest, to - rest};
}

std::uint64_t EliasFano::LowerBoundIn(Range range, std::uint64_t low) const {
  auto [begin, end] = range;
  while (begin < end) {
    const std::uint64_t middle = begin + (end - begin) / 2;
    if (lower_[middle] < low) {
      begin = middle + 1;
    } else {
      end = middle;
    }
  }
  return begin;
}

std::uint64_t EliasFano::LowerBound(std::uint64_t value) const {
  if (value <= first_) return 0;
  if (value > last_) return size();
  const std::uint64_t offset = value - first_;
  return LowerBoundIn(WithRest(offset >> lower_.width()), LowBits(offset, lower_.width()));
}

std::optional<std::uint64_t> EliasFano::Find(std::uint64_t value) const {
  if (size() == 0 || value < first_ || value > last_) return std::nullopt;
  const std::uint64_t offset = value - first_;
  const std::uint64_t low = LowBits(offset, lower_.width());
  const Range range = WithRest(offset >> lower_.width());
  const std::uint64_t index = LowerBoundIn(range, low);
  if (index == range.end || lower_[index] != low) return std::nullopt;
  return index;
}

EliasFano::Cursor::Cursor(const EliasFano& sequence, std::uint64_t index)
    : sequence_(sequence), index_(index) {
  assert(index <= sequence.size());
  if (index == sequence.size()) return;
  const std::uint64_t place = sequence.Select(sequence.ones_, sequence.zeros_, index);
  at_ = place / 64 * 64;
  word_ = LoadWord(sequence.upper_ + at_ / 8) & (~std::uint64_t{0} << (place % 64));
}

EliasFanoWriter::EliasFanoWriter(std::uint64_t size, std::uint64_t first, std::uint64_t last)
    : shape_(EliasFano::Shape::Of(size, first, last)),
      previous_(first),
      upper_(shape_.upper_bytes() / 8) {
  assert(first <= last);
}

void EliasFanoWriter::Append(std::uint64_t number) {
  assert(appended_ < shape_.size);
  assert(previous_ <= number);
  assert(number <= shape_.last);
  const std::uint64_t offset = number - shape_.first;
  const std::uint64_t place = (offset >> shape_.low_width) + appended_;
  upper_[place / 64] |= std::uint64_t{1} << (place % 64);
  lower_.Put(LowBits(offset, shape_.low_width), shape_.low_width);
  previous_ = number;
  ++appended_;
}

std::vector<std::byte> EliasFanoWriter::Take() {
  assert(appended_ == shape_.size);
  assert(shape_.size == 0 || previous_ == shape_.last);
  BitWriter writer;
  writer.Put(shape_.size, 64);
  writer.Put(shape_.first, 64);
  writer.Put(shape_.last, 64);
  writer.Put(shape_.low_width, 64);
  for (const std::uint64_t word : upper_) writer.Put(word, 64);
  const auto put_samples = [&](std::uint64_t flip, std::uint64_t every) {
    Sample(std::as_bytes(std::span(upper_)).data(), shape_.upper_bits(), flip, every,
           [&](std::uint64_t place) { writer.Put(place, shape_.sample_width()); });
    writer.Align();
  };
  put_samples(0, kOnesPerSample);
  put_samples(~std::uint64_t{0}, kZerosPerSample);
  std::vector<std::byte> bytes = writer.Take();
  const std::vector<std::byte> lower = lower_.Take();
  bytes.insert(bytes.end(), lower.begin(), lower.end());
  return bytes;
}

bool AreBounds(const EliasFano& bounds, std::uint64_t parts, std::uint64_t end) {
  if (parts + 1 == 0 || bounds.size() != parts + 1) return false;
  EliasFano::Cursor cursor(bounds, 0);
  std::uint64_t last = cursor.Next();
  if (last != 0) return false;
  while (cursor.index() < bounds.size()) {
    if (std::exchange(last, cursor.Next()) > last) return false;
  }
  // The header has the first and the last number, too, and searches trust it.
  return last == end && bounds.LowerBound(1) > 0 && bounds.LowerBound(end) < bounds.size();
}

std::vector<std::byte> BuildEliasFano(std::span<const std::uint64_t> numbers) {
  EliasFanoWriter writer(numbers.size(), numbers.empty() ? 0 : numbers.front(),
                         numbers.empty() ? 0 : numbers.back());
  for (const std::uint64_t number : numbers) writer.Append(number);
  return writer.Take();
}

}  // namespace stout::blowfish
