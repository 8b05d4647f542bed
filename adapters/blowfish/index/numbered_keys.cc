#include "blowfish/index/numbered_keys.h"

#include <utility>

#include "blowfish/index/bits.h"

namespace stout::blowfish {
namespace {

constexpr std::uint64_t kFixedBytes = 3 * 8;
constexpr std::uint64_t kAlphabetBytes = sizeof(KeyNumbering::Alphabet);

}  // namespace

std::vector<std::byte> NumberedKeysHeader(const std::vector<KeyNumbering::Alphabet>& alphabets,
                                          std::uint64_t shortest) {
  BitWriter writer;
  writer.Put(NumberedKeys::kLayout, 64);
  writer.Put(alphabets.size(), 64);
  writer.Put(shortest, 64);
  for (const KeyNumbering::Alphabet& alphabet : alphabets) {
    for (const std::uint64_t word : alphabet) writer.Put(word, 64);
  }
  return writer.Take();
}

Result<NumberedKeys> NumberedKeys::Open(std::span<const std::byte> bytes) {
  if (bytes.size() < kFixedBytes) return Errc::kCorrupt;
  const std::uint64_t positions = LoadWord(bytes.data() + 8);
  const std::uint64_t shortest = LoadWord(bytes.data() + 16);
  if (positions > kMaxPositions || bytes.size() < kFixedBytes + positions * kAlphabetBytes) {
    return Errc::kCorrupt;
  }
  std::vector<KeyNumbering::Alphabet> alphabets(positions);
  const std::byte* at = bytes.data() + kFixedBytes;
  for (KeyNumbering::Alphabet& alphabet : alphabets) {
    for (std::uint64_t& word : alphabet) {
      word = LoadWord(at);
      at += 8;
    }
  }
  std::optional<KeyNumbering> numbering = KeyNumbering::Make(alphabets, shortest);
  if (!numbering) return Errc::kCorrupt;
  const auto number_bytes = bytes.subspan(kFixedBytes + positions * kAlphabetBytes);
  const Result<EliasFano> numbers = EliasFano::Open(number_bytes);
  if (!numbers) return numbers.error();
  return NumberedKeys(std::move(*numbering), *numbers, number_bytes.size());
}

std::optional<std::uint64_t> NumberedKeys::Find(std::string_view key) const {
  const std::optional<std::uint64_t> number = numbering_.NumberOf(key);
  if (!number) return std::nullopt;
  return numbers_.Find(*number);
}

std::uint64_t NumberedKeys::LowerBound(std::string_view key) const {
  const std::optional<std::uint64_t> number = numbering_.FirstNumberFrom(key);
  return number ? numbers_.LowerBound(*number) : size();
}

void NumberedKeys::AppendKey(std::uint64_t record, std::string& key) const {
  numbering_.AppendKey(numbers_[record], key);
}

void NumberedKeys::Scan(std::uint64_t from, const KeyVisitor& visit) const {
  std::string key;
  for (EliasFano::Cursor cursor(numbers_, from); cursor.index() < size();) {
    const std::uint64_t record = cursor.index();
    key.clear();
    numbering_.AppendKey(cursor.Next(), key);
    if (!visit(record, key)) return;
  }
}

}  // namespace stout::blowfish
