// A cache of blocks has what was put in, within its layers, and keeps what is used often.

#include "blowfish/index/block_layers.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "stout/core/random.h"
#include "stout/core/segmented_lru.h"
#include "tests/support/catch.h"
#include "tests/support/rounds.h"

namespace stout::blowfish {
namespace {

// Blocks of some sizes, each of bytes of its own.
class Blocks {
 public:
  explicit Blocks(std::vector<std::size_t> sizes) : sizes_(std::move(sizes)) {
    shape_.blocks = sizes_.size();
    for (const std::size_t size : sizes_) shape_.Keep(size);
  }

  [[nodiscard]] const BlockLayers::Shape& shape() const { return shape_; }
  [[nodiscard]] std::size_t size() const { return sizes_.size(); }
  [[nodiscard]] std::size_t SizeOf(std::uint64_t block) const { return sizes_[block]; }
  [[nodiscard]] std::string ValuesOf(std::uint64_t block) const {
    std::string values(sizes_[block], '\0');
    SplitMix64 random(block);
    for (char& byte : values) byte = static_cast<char>(random.Below(256));
    return values;
  }
  // Reads a block as BlockTexts::Reader does. Returns whether the layers had it, and right.
  [[nodiscard]] bool Read(BlockLayers& layers, std::uint64_t block) const {
    if (const char* const found = layers.Find(block)) {
      CHECK(std::string_view(found, sizes_[block]) == ValuesOf(block));
      return true;
    }
    Write(layers.Insert(block, sizes_[block]), block);
    return false;
  }
  void Write(char* to, std::uint64_t block) const {
    if (to != nullptr) std::ranges::copy(ValuesOf(block), to);
  }

 private:
  std::vector<std::size_t> sizes_;
  BlockLayers::Shape shape_;
};

Blocks RandomBlocks(SplitMix64& random) {
  std::vector<std::size_t> sizes(1 + random.Below(400));
  const std::size_t most = std::size_t{1} << random.Below(13);
  for (std::size_t& size : sizes) size = 1 + random.Below(most);
  if (random.Below(4) == 0) sizes[random.Below(sizes.size())] = BlockLayers::kMaxBlockBytes;
  if (random.Below(4) == 0) sizes[random.Below(sizes.size())] = BlockLayers::kMaxBlockBytes + 1;
  return Blocks(std::move(sizes));
}

void FillAll(const Blocks& blocks, BlockLayers& layers) {
  for (std::uint64_t block = 0; block < blocks.size() && layers.filling(); ++block) {
    if (layers.Peek(block) == nullptr)
      blocks.Write(layers.InsertIfRoom(block, blocks.SizeOf(block)), block);
  }
}

TEST_CASE("block layers are added and removed, and tell beforehand what that takes and frees",
          "[block_layers]") {
  const std::size_t count = GENERATE(1, 17, 40, 5000);
  const Blocks blocks(std::vector<std::size_t>(count, 4000));
  BlockLayers layers(blocks.shape());
  CHECK(layers.bytes() == 0);
  CHECK_FALSE(layers.Remove());
  std::vector<std::uint64_t> sizes = {0};
  for (std::uint64_t next = layers.next_bytes(); layers.Add(); next = layers.next_bytes()) {
    FillAll(blocks, layers);
    CHECK_FALSE(layers.filling());
    const std::uint64_t took = layers.bytes() - sizes.back();
    CHECK(next >= took);
    CHECK(next <= took + 2 * 4096 + 9 * count);
    sizes.push_back(layers.bytes());
    CHECK(layers.layers() + 1 == sizes.size());
  }
  CHECK(layers.next_bytes() == 0);
  CHECK(layers.layers() == (count == 1 ? 1 : count == 17 ? 2 : count == 40 ? 3 : 4));
  if (count == 5000) {  // 1/8, 1/4, 1/2, all
    const double all = 4000 * 5000;
    CHECK(sizes[1] / all == Approx(0.125).epsilon(0.1));
    CHECK(sizes[2] / all == Approx(0.25).epsilon(0.1));
    CHECK(sizes[3] / all == Approx(0.5).epsilon(0.1));
    CHECK(sizes[4] / all == Approx(1).epsilon(0.1));
  }
  while (layers.layers() > 0) {
    const std::uint64_t before = layers.bytes();
    const std::uint64_t finest = layers.finest_bytes();
    REQUIRE(layers.Remove());
    sizes.pop_back();
    CHECK(layers.bytes() == sizes.back());
    CHECK(before - layers.bytes() == finest);
  }
  CHECK(layers.Peek(0) == nullptr);
}

TEST_CASE("all block layers have all blocks, in whatever order these come", "[block_layers]") {
  const std::uint64_t seed = GENERATE(range(1, 60));
  CAPTURE(seed);
  SplitMix64 random(seed);
  const Blocks blocks = RandomBlocks(random);
  BlockLayers layers(blocks.shape());
  while (layers.Add()) continue;
  std::vector<std::uint64_t> order(blocks.size());
  for (std::uint64_t block = 0; block < order.size(); ++block) {
    order[block] = block;
    std::swap(order[block], order[random.Below(block + 1)]);
  }
  for (const std::uint64_t block : order) CHECK_FALSE(blocks.Read(layers, block));
  CHECK_FALSE(layers.filling());
  for (const std::uint64_t block : order)
    CHECK(blocks.Read(layers, block) == (blocks.SizeOf(block) <= BlockLayers::kMaxBlockBytes));
}

TEST_CASE("a block has its own bytes while layers come and go and blocks displace each other",
          "[block_layers][long]") {
  const std::uint64_t seeds = stout::test::Rounds("STOUT_SEEDS", 800) / 100;
  const auto seed = GENERATE_COPY(range(std::uint64_t{0}, seeds));
  CAPTURE(seed);
  SplitMix64 random(seed);
  const Blocks blocks = RandomBlocks(random);
  BlockLayers layers(blocks.shape());
  std::uint64_t found = 0;
  for (int i = 0; i < 3000; ++i) {
    const std::uint64_t block = random.Below(1 + random.Below(blocks.size()));
    switch (random.Below(40)) {
      case 0:
        layers.Add();
        break;
      case 1:
        layers.Remove();
        break;
      case 2:
        if (layers.Peek(block) == nullptr)
          blocks.Write(layers.InsertIfRoom(block, blocks.SizeOf(block)), block);
        break;
      case 3: {
        // New layers are filled beside the others, which are used meanwhile.
        BlockLayers next = layers.Next();
        const std::size_t more = 1 + random.Below(3);
        const std::uint64_t expected = layers.next_bytes(more);
        for (std::size_t layer = 0; layer < more; ++layer) next.Add();
        CHECK(next.bytes() <= expected + (expected == 0) * (8 + 4096));
        for (int j = 0; j < 200; ++j) {
          const std::uint64_t other = random.Below(blocks.size());
          if (next.filling() && !next.Has(other))
            blocks.Write(next.InsertIfRoom(other, blocks.SizeOf(other)), other);
          found += blocks.Read(layers, random.Below(blocks.size()));
        }
        const std::size_t count = next.layers();
        layers.Join(std::move(next));
        CHECK(layers.layers() == count);
        break;
      }
      default:
        found += blocks.Read(layers, block);
    }
  }
  CHECK(found > 0);
}

TEST_CASE("layers that are filled beside others have the blocks that those lack",
          "[block_layers]") {
  const Blocks blocks(std::vector<std::size_t>(4000, 100));
  BlockLayers layers(blocks.shape());
  REQUIRE(layers.Add());  // room for 500
  for (std::uint64_t block = 0; block < 400; ++block) (void)blocks.Read(layers, 2 * block);
  BlockLayers next = layers.Next();
  REQUIRE(next.Add());
  for (std::uint64_t block = 0; block < blocks.size() && next.filling(); ++block) {
    if (!next.Has(block)) blocks.Write(next.InsertIfRoom(block, blocks.SizeOf(block)), block);
  }
  layers.Join(std::move(next));
  std::uint64_t found = 0;
  for (std::uint64_t block = 0; block < 800; ++block) found += layers.Peek(block) != nullptr;
  CHECK(found == 800);
  // A new block displaces one of the old layer, which is the older one.
  (void)blocks.Read(layers, 3999);
  for (std::uint64_t block = 1; block < 800; block += 2) CHECK(layers.Peek(block) != nullptr);
}

TEST_CASE("blocks that are read once do not displace those that are read often", "[block_layers]") {
  const Blocks blocks(std::vector<std::size_t>(4000, 100));
  BlockLayers layers(blocks.shape());
  layers.Add();  // room for 500
  constexpr std::uint64_t kOften = 100;
  std::uint64_t once = kOften;
  std::uint64_t missed = 0;
  for (int round = 0; round < 60; ++round) {
    for (std::uint64_t block = 0; block < kOften; ++block) {
      const bool found = blocks.Read(layers, block);
      missed +=
          round > 30 && !found;  // At first they fill whole segments, of which a part must go.
    }
    for (int i = 0; i < 60; ++i) (void)blocks.Read(layers, once++);
  }
  CHECK(missed == 0);
}

// A cache of blocks of equal size, as a model for the number that are found.
class Lru {
 public:
  explicit Lru(std::size_t capacity) : capacity_(capacity), order_(capacity) {}
  ~Lru() {
    for (auto& [block, element] : elements_) order_.Remove(*element);
  }

  bool Read(std::uint64_t block) {
    auto& element = elements_[block];
    if (element) {
      order_.Use(*element);
      return true;
    }
    if (elements_.size() > capacity_) {
      Element& next = order_.Next();
      order_.Remove(next);
      elements_.erase(next.block);
    }
    element = std::make_unique<Element>();
    element->block = block;
    element->bytes = 1;
    order_.Insert(*element);
    return false;
  }

 private:
  struct Element : SegmentedLruElement {
    std::uint64_t block = 0;
  };

  std::size_t capacity_;
  SegmentedLru<Element> order_;
  std::map<std::uint64_t, std::unique_ptr<Element>> elements_;
};

TEST_CASE("block layers find about as many blocks as a segmented LRU of their size",
          "[block_layers]") {
  constexpr std::size_t kBlocks = 4000;
  const int layer_count = GENERATE(1, 2, 3);
  const std::size_t capacity = kBlocks >> (4 - layer_count);
  const Blocks blocks(std::vector<std::size_t>(kBlocks, 100));
  BlockLayers layers(blocks.shape());
  for (int i = 0; i < layer_count; ++i) layers.Add();
  Lru lru(capacity);
  std::vector<double> shares(kBlocks);  // by Zipf's law, added up
  double sum = 0;
  for (std::size_t i = 0; i < kBlocks; ++i)
    shares[i] = sum += std::pow(static_cast<double>(i + 1), -0.99);
  SplitMix64 random(1);
  double found = 0;
  double found_by_lru = 0;
  constexpr int kReads = 100'000;
  for (int i = 0; i < kReads; ++i) {
    const double at = sum * static_cast<double>(random.Below(1 << 30)) / (1 << 30);
    const auto rank =
        static_cast<std::uint64_t>(std::ranges::lower_bound(shares, at) - shares.begin());
    const std::uint64_t block = rank * 1021 % kBlocks;
    found += blocks.Read(layers, block);
    found_by_lru += lru.Read(block);
  }
  CAPTURE(layer_count);
  CHECK(found / kReads > (layer_count == 1 ? 0.6 : layer_count == 2 ? 0.7 : 0.8));
  CHECK(found / kReads > found_by_lru / kReads - 0.03);
}

TEST_CASE("block layers without blocks that they can have cannot be added", "[block_layers]") {
  const Blocks blocks(GENERATE(std::vector<std::size_t>{},
                               std::vector<std::size_t>{BlockLayers::kMaxBlockBytes + 1}));
  BlockLayers layers(blocks.shape());
  CHECK(layers.next_bytes() == 0);
  CHECK_FALSE(layers.Add());
  CHECK(layers.Insert(0, 1) == nullptr);
}

}  // namespace
}  // namespace stout::blowfish
