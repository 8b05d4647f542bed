#pragma once

#include <cstdint>

#include "blowfish/index/layered_sampled_array.h"
#include "stout/core/random.h"

namespace stout::blowfish {

// Adds a layer to the array, takes one away, or fills those of all the index's arrays from a random
// record on.
template <typename Index>
void ChangeLayers(SplitMix64& random, Index& index, LayeredSampledArray& array) {
  switch (random.Below(4)) {
    case 0:
    case 1:
      array.Add();
      break;
    case 2:
      array.Remove();
      break;
    default:
      index.FillLayers(static_cast<std::uint32_t>(random.Below(index.records() + 1)),
                       index.records());
  }
}

}  // namespace stout::blowfish
