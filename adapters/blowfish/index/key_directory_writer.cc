#include "blowfish/index/key_directory_writer.h"

#include <algorithm>
#include <optional>
#include <span>
#include <utility>

#include "blowfish/index/bits.h"
#include "blowfish/index/common_prefix.h"
#include "blowfish/index/elias_fano.h"
#include "blowfish/index/numbered_keys.h"

namespace stout::blowfish {

void KeyDirectoryWriter::Append(std::string_view key) {
  const bool is_first = size() == 0;
  const std::size_t common = CommonPrefix(last_, key);
  disordered_ = disordered_ || (!is_first && key <= last_);
  if (is_first) first_ = key;
  shortest_ = is_first ? key.size() : std::min<std::uint64_t>(shortest_, key.size());
  longest_ = std::max<std::uint64_t>(longest_, key.size());
  if (longest_ <= NumberedKeys::kMaxPositions) NoteBytes(key);
  front_coded_.Append(key, common);
  last_ = key;
}

void KeyDirectoryWriter::NoteBytes(std::string_view key) {
  alphabets_.resize(longest_);
  for (std::size_t p = 0; p < key.size(); ++p) {
    const auto byte = static_cast<unsigned char>(key[p]);
    alphabets_[p][byte / 64] |= std::uint64_t{1} << (byte % 64);
  }
}

Result<std::vector<std::byte>> KeyDirectoryWriter::Finish() {
  if (disordered_) return Errc::kBadOptions;
  const std::uint64_t keys = size();
  std::vector<std::byte> front_coded = front_coded_.Take();
  if (keys == 0 || longest_ > NumberedKeys::kMaxPositions) return front_coded;
  const std::optional<KeyNumbering> numbering = KeyNumbering::Make(alphabets_, shortest_);
  if (!numbering) return front_coded;

  const std::uint64_t first = *numbering->NumberOf(first_);
  const std::uint64_t last = *numbering->NumberOf(last_);
  std::vector<std::byte> numbered = NumberedKeysHeader(alphabets_, shortest_);
  if (numbered.size() + EliasFano::Shape::Of(keys, first, last).bytes() >= front_coded.size()) {
    return front_coded;
  }
  EliasFanoWriter writer(keys, first, last);
  const std::size_t unpadded = front_coded.size();
  front_coded.resize(unpadded + kBitPadding);
  const FrontCodedKeys in_order =
      FrontCodedKeys::Open(std::span(front_coded).first(unpadded)).value();
  in_order.Scan(0, [&](std::uint64_t, std::string_view key) {
    writer.Append(*numbering->NumberOf(key));
    return true;
  });
  const std::vector<std::byte> numbers = writer.Take();
  numbered.insert(numbered.end(), numbers.begin(), numbers.end());
  return numbered;
}

}  // namespace stout::blowfish
