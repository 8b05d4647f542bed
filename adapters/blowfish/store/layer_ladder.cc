#include "blowfish/store/layer_ladder.h"

#include <bit>

namespace stout::blowfish {
namespace {

/// An allocation may be rounded up to whole pages.
constexpr std::uint64_t kPageBytes = 4096;

std::size_t LayersOf(const LayeredSampledArray& array) {
  return array.shape().coarsest_exponent - std::countr_zero(array.finest());
}

std::uint64_t BytesOfWords(std::size_t words) { return words * sizeof(std::uint64_t); }

}  // namespace

std::size_t LayerLadder::layers() const { return LayersOf(searches_) + LayersOf(reads_); }

std::size_t LayerLadder::Steps() const {
  if (searches_.shape().size == 0) return 0;  // nothing to sample
  return 2 * static_cast<std::size_t>(searches_.shape().coarsest_exponent);
}

std::uint64_t LayerLadder::bytes() const { return searches_.bytes() + reads_.bytes(); }

bool LayerLadder::IsForSearches(std::size_t step) const {
  // The two arrays take turns, except for the first step and the last.
  return step == 0 || (step % 2 == 1 && step + 1 < Steps());
}

std::uint64_t LayerLadder::next_bytes(std::size_t count) const {
  std::uint32_t searches = searches_.finest();
  std::uint32_t reads = reads_.finest();
  std::uint64_t bytes = 0;
  for (std::size_t step = layers(); count > 0 && step < Steps(); ++step, --count) {
    std::uint32_t& distance = IsForSearches(step) ? searches : reads;
    distance /= 2;
    const auto words = LayeredSampledArray::WordsOfLayer(ArrayOf(step).shape(), distance);
    bytes += BytesOfWords(words.values + words.bitmap) + 2 * kPageBytes;
  }
  return bytes;
}

std::uint64_t LayerLadder::finest_bytes() const {
  const std::size_t step = layers();
  if (step == 0) return 0;
  const LayeredSampledArray& array = ArrayOf(step - 1);
  return BytesOfWords(LayeredSampledArray::WordsOfLayer(array.shape(), array.finest()).values);
}

bool LayerLadder::Add() {
  const std::size_t step = layers();
  return step < Steps() && ArrayOf(step).Add();
}

bool LayerLadder::Remove() {
  const std::size_t step = layers();
  return step > 0 && ArrayOf(step - 1).Remove();
}

}  // namespace stout::blowfish
