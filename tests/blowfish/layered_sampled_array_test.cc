#include "blowfish/index/layered_sampled_array.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "stout/core/random.h"
#include "tests/support/catch.h"

namespace stout::blowfish {

std::ostream& operator<<(std::ostream& out, const SampleShape& shape) {
  return out << "size " << shape.size << ", width " << shape.width << ", 2^"
             << shape.coarsest_exponent << (shape.coarsest_implied ? " implied, " : ", ")
             << shape.columns << " columns";
}

std::ostream& operator<<(std::ostream& out, const LayerInfo& layer) {
  constexpr std::array kNames = {"implied", "filling", "full"};
  return out << "{layer " << layer.distance << ": " << kNames[static_cast<int>(layer.state)] << ", "
             << layer.filled << " of " << layer.entries << ", " << layer.bytes << " bytes}";
}

namespace {

// The unsampled array.
std::uint64_t ValueOf(std::uint64_t index, int width) {
  return LowBits(SplitMix64(index + 1).Next(), width);
}

// The paper's words, index by index: which layers exist, and what has been filled.
class Model {
 public:
  explicit Model(const SampleShape& shape)
      : shape_(shape), finest_(shape.coarsest_implied ? shape.coarsest() : 0) {}

  [[nodiscard]] std::uint32_t finest() const { return finest_; }

  // The layer that an index belongs to: the largest sampling rate that divides it.
  [[nodiscard]] std::uint32_t LayerOf(std::uint64_t index) const {
    std::uint32_t distance = shape_.coarsest();
    while (index % distance != 0) distance /= 2;
    return distance;
  }
  [[nodiscard]] bool Occurs(std::uint64_t index) const {
    return index < shape_.size && index % shape_.coarsest() < shape_.columns;
  }
  [[nodiscard]] bool Stored(std::uint64_t index) const {
    const std::uint32_t layer = LayerOf(index);
    if (layer == shape_.coarsest() && shape_.coarsest_implied) return false;
    return finest_ != 0 && layer >= finest_;
  }

  bool Add() {
    if (finest_ == 1) return false;
    finest_ = finest_ == 0 ? shape_.coarsest() : finest_ / 2;
    return true;
  }
  bool Remove() {
    if (finest_ == (shape_.coarsest_implied ? shape_.coarsest() : 0)) return false;
    std::erase_if(filled_, [&](const auto& entry) { return LayerOf(entry.first) == finest_; });
    finest_ = finest_ == shape_.coarsest() ? 0 : finest_ * 2;
    return true;
  }
  bool Fill(std::uint64_t index, std::uint64_t value) {
    return Stored(index) && filled_.emplace(index, value).second;
  }
  [[nodiscard]] std::optional<std::uint64_t> Find(std::uint64_t index) const {
    const auto found = filled_.find(index);
    if (found == filled_.end()) return std::nullopt;
    return found->second;
  }

  // Without the bytes.
  [[nodiscard]] std::vector<LayerInfo> Layers() const {
    std::vector<LayerInfo> layers;
    for (std::uint32_t distance = shape_.coarsest(); finest_ != 0 && distance >= finest_;
         distance /= 2) {
      LayerInfo& layer = layers.emplace_back(LayerInfo{.distance = distance});
      const bool implied = distance == shape_.coarsest() && shape_.coarsest_implied;
      for (std::uint64_t index = 0; index < shape_.size; ++index) {
        if (!Occurs(index) || LayerOf(index) != distance) continue;
        ++layer.entries;
        if (implied || Find(index)) ++layer.filled;
      }
      if (layer.filled == layer.entries) layer.state = LayerState::kFull;
      if (implied) layer.state = LayerState::kImplied;
    }
    return layers;
  }

 private:
  const SampleShape shape_;
  std::uint32_t finest_;
  std::map<std::uint64_t, std::uint64_t> filled_;
};

std::vector<LayerInfo> WithoutBytes(std::vector<LayerInfo> layers) {
  for (LayerInfo& layer : layers) layer.bytes = 0;
  return layers;
}

// Memory of a layer that is too small to be mapped, as the header promises it: packed values, a
// bitmap while there are some to fill, and the overhead of rounding to words and of looking ahead.
bool BytesAreAsPromised(const SampleShape& shape, const LayerInfo& layer) {
  if (layer.state == LayerState::kImplied) return layer.bytes == 0;
  const std::uint64_t bits_each = shape.width + (layer.state == LayerState::kFilling ? 1 : 0);
  const std::uint64_t columns = shape.coarsest() / layer.distance;
  const std::uint64_t packed = layer.entries * bits_each / 8;
  return layer.bytes >= packed && layer.bytes <= packed + 16 * columns + 24;
}

void FillLayer(LayeredSampledArray& array, std::uint32_t distance) {
  const SampleShape& shape = array.shape();
  for (std::uint64_t offset = 0; offset < shape.Entries(0); ++offset) {
    shape.ForEachColumn(distance, [&](std::uint32_t ordinal) {
      const std::uint64_t index = shape.Index(offset, ordinal);
      if (index < shape.size) (void)array.Fill(index, ValueOf(index, shape.width));
    });
  }
}

TEST_CASE("the array of the paper's Figure 4", "[lsa]") {
  constexpr std::array<std::uint64_t, 16> kValues = {9,  11, 15, 2, 3,  1, 0, 6,
                                                     12, 13, 8,  7, 14, 4, 5, 10};
  LayeredSampledArray array({.size = 16, .width = 4, .coarsest_exponent = 3, .columns = 8});
  CHECK(array.finest() == 0);
  CHECK_FALSE(array.Remove());
  for (int layers = 0; layers < 3; ++layers) CHECK(array.Add());
  CHECK(array.finest() == 2);
  for (std::uint64_t index = 0; index < 16; ++index) {
    CHECK(array.Wants(index) == (index % 2 == 0));
    CHECK(array.Fill(index, kValues[index]) == (index % 2 == 0));
    CHECK_FALSE(array.Fill(index, kValues[index]));
  }
  for (std::uint64_t index = 0; index < 16; ++index) {
    const auto found = array.Find(index);
    CHECK(found.has_value() == (index % 2 == 0));
    if (found) CHECK(*found == kValues[index]);
  }
  CHECK(WithoutBytes(array.Layers()) ==
        std::vector<LayerInfo>{
            {.distance = 8, .state = LayerState::kFull, .entries = 2, .filled = 2},
            {.distance = 4, .state = LayerState::kFull, .entries = 2, .filled = 2},
            {.distance = 2, .state = LayerState::kFull, .entries = 4, .filled = 4}});
  std::array<std::uint32_t, 2> column{};
  CHECK(array.Unpack(6, 0, column));
  CHECK(column == std::array<std::uint32_t, 2>{0, 5});
}

TEST_CASE("shapes that cannot be are not valid", "[lsa]") {
  const SampleShape good = {.size = 100, .width = 57, .coarsest_exponent = 3, .columns = 8};
  CHECK(good.Valid());
  const auto with = [&](auto change) {
    SampleShape shape = good;
    change(shape);
    return shape.Valid();
  };
  CHECK(with([](SampleShape& s) { s.size = 0; }));
  CHECK(with([](SampleShape& s) { s.columns = 1; }));
  CHECK_FALSE(with([](SampleShape& s) { s.size = SampleShape::kMaxSize + 1; }));
  CHECK_FALSE(with([](SampleShape& s) { s.width = 58; }));
  CHECK_FALSE(with([](SampleShape& s) { s.width = -1; }));
  CHECK_FALSE(with([](SampleShape& s) { s.columns = 0; }));
  CHECK_FALSE(with([](SampleShape& s) { s.columns = 9; }));
  CHECK_FALSE(with([](SampleShape& s) { s.coarsest_exponent = -1; }));
  CHECK_FALSE(with([](SampleShape& s) { s.coarsest_exponent = SampleShape::kMaxExponent + 1; }));
}

// All layers are added, filled one after the other and removed; what is wrong, or "".
std::string BuildUpAndDown(const SampleShape& shape) {
  LayeredSampledArray array(shape);
  Model model(shape);
  const auto compare = [&]() -> std::string {
    if (array.finest() != model.finest()) return "finest";
    if (WithoutBytes(array.Layers()) != model.Layers()) return "layers";
    for (std::uint64_t index = 0; index < shape.size; ++index) {
      if (shape.Contains(index) != model.Occurs(index)) return "occurs";
      if (!model.Occurs(index)) continue;
      if (array.Find(index) != model.Find(index)) return "find " + std::to_string(index);
      if (array.Wants(index)) return "wants " + std::to_string(index);
    }
    return "";
  };
  std::string wrong = compare();
  while (wrong.empty() && model.Add()) {
    if (!array.Add()) return "not added";
    FillLayer(array, array.finest());
    for (std::uint64_t index = 0; index < shape.size; ++index) {
      if (model.Occurs(index)) model.Fill(index, ValueOf(index, shape.width));
    }
    wrong = compare();
  }
  if (wrong.empty() && array.Add()) return "added below 1";
  while (wrong.empty() && model.Remove()) {
    if (!array.Remove()) return "not removed";
    wrong = compare();
  }
  if (wrong.empty() && array.Remove()) return "removed what is not there";
  return wrong;
}

TEST_CASE("every small shape builds up and down", "[lsa]") {
  for (std::uint64_t size = 0; size <= 18; ++size) {
    for (int exponent = 0; exponent <= 3; ++exponent) {
      for (std::uint32_t columns = 1; columns <= 1U << exponent; ++columns) {
        for (const bool implied : {false, true}) {
          for (const int width : {0, 1, 33, 57}) {
            const SampleShape shape{.size = size,
                                    .width = width,
                                    .coarsest_exponent = exponent,
                                    .coarsest_implied = implied,
                                    .columns = columns};
            const std::string wrong = BuildUpAndDown(shape);
            if (!wrong.empty()) FAIL(shape << ": " << wrong);
          }
        }
      }
    }
  }
}

SampleShape RandomShape(SplitMix64& random) {
  SampleShape shape;
  constexpr std::array<std::uint64_t, 4> kSizes = {1, 20, 300, 2000};
  shape.size = 1 + random.Below(kSizes[random.Below(4)]);
  shape.width = 1 + static_cast<int>(random.Below(kMaxBitWidth));
  shape.coarsest_exponent = static_cast<int>(random.Below(6));
  shape.coarsest_implied = random.Below(2) == 0;
  shape.columns = shape.coarsest();
  if (random.Below(2) == 0) {
    shape.columns = 1 + static_cast<std::uint32_t>(random.Below(shape.coarsest()));
  }
  return shape;
}

// An index that occurs.
std::uint64_t RandomIndex(SplitMix64& random, const SampleShape& shape) {
  while (true) {
    const std::uint64_t index = random.Below(shape.size);
    if (shape.Contains(index)) return index;
  }
}

// Returns true if all of a column is there.
bool IsFull(const Model& model, const SampleShape& shape, std::uint32_t ordinal) {
  for (std::uint64_t index = ordinal; index < shape.size; index += shape.coarsest()) {
    if (!model.Find(index)) return false;
  }
  return true;
}

// Checks that a random part of a random column unpacks, and random entries of it are gathered,
// exactly if all of the column is there, and correctly. Their values are of 32 bits at most.
bool UnpacksAsInTheModel(SplitMix64& random, const LayeredSampledArray& array, const Model& model) {
  const SampleShape& shape = array.shape();
  const std::uint64_t first = RandomIndex(random, shape);
  const std::uint32_t ordinal = shape.Ordinal(first);
  const bool full = IsFull(model, shape, ordinal);
  if (array.full(ordinal) != full) return false;
  if (shape.width > 32) return true;
  const auto value = [&](std::uint64_t offset) {
    return static_cast<std::uint32_t>(*model.Find(shape.Index(offset, ordinal)));
  };
  const std::uint64_t offset = shape.Offset(first);
  std::vector<std::uint32_t> out(1 + random.Below(shape.Entries(ordinal) - offset), 7);
  std::vector<std::uint32_t> expected = out;
  for (std::size_t i = 0; full && i < out.size(); ++i) expected[i] = value(offset + i);
  if (array.Unpack(ordinal, offset, out) != full || out != expected) return false;

  std::vector<std::uint32_t> numbers(random.Below(10));
  for (std::uint32_t& number : numbers) {
    number = static_cast<std::uint32_t>(random.Below(shape.Entries(ordinal)));
  }
  expected = numbers;
  for (std::size_t i = 0; full && i < numbers.size(); ++i) expected[i] = value(numbers[i]);
  return array.Gather(ordinal, numbers) == full && numbers == expected;
}

TEST_CASE("a layered sampled array does what its model does", "[lsa]") {
  const auto seed = GENERATE(take(100, random<std::uint64_t>(0, UINT64_MAX)));
  SplitMix64 random(seed);
  const SampleShape shape = RandomShape(random);
  CAPTURE(seed, shape);
  LayeredSampledArray array(shape);
  Model model(shape);
  for (int step = 0; step < 500; ++step) {
    const std::uint64_t index = RandomIndex(random, shape);
    const std::uint64_t value = ValueOf(index, shape.width);
    switch (random.Below(40)) {
      case 0:
        REQUIRE(array.Remove() == model.Remove());
        break;
      case 1:
      case 2:
        REQUIRE(array.Add() == model.Add());
        break;
      case 3:
        if (array.finest() == 0) break;
        FillLayer(array, array.finest());
        for (std::uint64_t i = 0; i < shape.size; ++i) {
          if (model.Occurs(i) && model.LayerOf(i) == model.finest()) {
            model.Fill(i, ValueOf(i, shape.width));
          }
        }
        break;
      case 4: {
        const std::vector<LayerInfo> layers = array.Layers();
        REQUIRE(WithoutBytes(layers) == model.Layers());
        REQUIRE(array.filling() == std::ranges::any_of(layers, [](const LayerInfo& layer) {
                  return layer.state == LayerState::kFilling;
                }));
        std::size_t bytes = 0;
        for (const LayerInfo& layer : layers) {
          bytes += layer.bytes;
          CAPTURE(layer);
          REQUIRE(BytesAreAsPromised(shape, layer));
        }
        REQUIRE(array.bytes() == bytes);
        break;
      }
      case 5: {
        // New layers are filled beside the array, which goes on meanwhile.
        LayeredSampledArray next = array.Next();
        for (std::uint64_t layers = random.Below(4); layers > 0; --layers)
          REQUIRE(next.Add() == model.Add());
        for (int i = 0; i < 100; ++i) {
          const std::uint64_t at = RandomIndex(random, shape);
          const std::uint64_t entry = ValueOf(at, shape.width);
          const bool lacked = next.Fill(at, entry) || array.Fill(at, entry);
          REQUIRE(lacked == model.Fill(at, entry));
        }
        array.Join(std::move(next));
        break;
      }
      case 6:
      case 7:
        REQUIRE(UnpacksAsInTheModel(random, array, model));
        break;
      default:
        array.Prefetch(index);
        REQUIRE(array.Find(index) == model.Find(index));
        REQUIRE(array.Wants(index) == (model.Stored(index) && !model.Find(index)));
        if (random.Below(2) == 0) REQUIRE(array.Fill(index, value) == model.Fill(index, value));
    }
    REQUIRE(array.finest() == model.finest());
  }
  for (std::uint64_t index = 0; index < shape.size; ++index) {
    if (model.Occurs(index)) REQUIRE(array.Find(index) == model.Find(index));
  }
}

TEST_CASE("a layer that is deleted takes its entries and its memory along", "[lsa]") {
  LayeredSampledArray array({.size = 1000, .width = 19, .coarsest_exponent = 1, .columns = 2});
  REQUIRE(array.Add());
  REQUIRE(array.Add());
  REQUIRE(array.Fill(7, 5));
  const std::size_t bytes = array.bytes();
  CHECK(array.Remove());
  CHECK_FALSE(array.Find(7));
  CHECK_FALSE(array.Wants(7));
  CHECK_FALSE(array.Fill(7, 5));
  CHECK(array.bytes() <= bytes / 2 + 8);
  // A new one knows nothing of it.
  CHECK(array.Add());
  CHECK_FALSE(array.Find(7));
  CHECK(array.Wants(7));
}

TEST_CASE("the bitmap of a layer goes when the layer becomes full", "[lsa]") {
  LayeredSampledArray array({.size = 1000, .width = 19, .coarsest_exponent = 1, .columns = 2});
  REQUIRE(array.Add());
  REQUIRE(array.Add());
  const std::size_t bytes = array.bytes();
  FillLayer(array, 1);
  CHECK(array.bytes() == bytes - 64);  // 500 bits
}

TEST_CASE("layers of mapped memory", "[lsa]") {
  const SampleShape shape{.size = 3'000'001, .width = 13, .coarsest_exponent = 1, .columns = 2};
  LayeredSampledArray array(shape);
  REQUIRE(array.Add());
  REQUIRE(array.Add());
  // The last entries of a layer lie before the end of its memory.
  for (const std::uint64_t index : {0, 1, 2, 3, 64, 1'234'567, 2'999'998, 2'999'999, 3'000'000}) {
    CHECK_FALSE(array.Find(index));
    CHECK(array.Fill(index, ValueOf(index, 13)));
    CHECK(array.Find(index) == ValueOf(index, 13));
  }
  FillLayer(array, 2);
  std::vector<std::uint32_t> out(shape.Entries(0));
  REQUIRE(array.Unpack(0, 0, out));
  bool right = true;
  for (std::uint64_t i = 0; i < out.size(); ++i) right = right && out[i] == ValueOf(2 * i, 13);
  CHECK(right);
  CHECK(array.Remove());
  CHECK(array.bytes() < 1'500'001 * 13 / 8 + 65536);
}

}  // namespace
}  // namespace stout::blowfish
