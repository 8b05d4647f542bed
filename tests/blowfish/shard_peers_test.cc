// The peers that the shard server is compared with answer correctly: a fast wrong answer is no
// comparison.

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "shard/lineitem.h"
#include "shard/oracle.h"
#include "shard/peers/hash_peer.h"
#include "shard/peers/peers.h"
#include "shard/peers/postings.h"
#include "shard/peers/sorted_keys.h"
#include "shard/verify.h"
#include "tests/blowfish/bench_support.h"
#include "tests/support/catch.h"
#include "tests/support/redis_server.h"
#include "tests/support/temp_directory.h"

namespace stout::bench::shard {
namespace {

/// A peer and what it needs to live.
struct PeerWorld {
  // Null, with a warning, where it was not compiled in.
  explicit PeerWorld(const std::string& name) {
    PeerOptions options{.scratch = scratch.path()};
    if (name == "redis") {
      redis.emplace(std::vector<std::string>{"--appendonly", "no"});
      options.redis = "127.0.0.1:" + std::to_string(redis->port());
    }
    Peers peers = MakePeers({name}, options);
    for (const LeftOut& left : peers.left_out) WARN(left.peer << ": " << left.why);
    if (!peers.peers.empty()) peer = std::move(peers.peers[0]);
  }

  test::TempDirectory scratch;
  std::optional<test::RedisServer> redis;
  std::unique_ptr<ShardPeer> peer;
};

/// Every record and every value of every attribute.
Mismatch VerifyAll(ShardPeer& peer, const Oracle& oracle) {
  for (RecordNumber record = 0; record < oracle.size(); ++record) {
    if (auto mismatch = CheckGet(peer, oracle, {record})) return mismatch;
  }
  if (!peer.CanSearch()) return std::nullopt;
  for (std::size_t attribute = 0; attribute < oracle.schema().size(); ++attribute) {
    for (const std::string_view value : oracle.Distinct(attribute)) {
      if (auto mismatch = CheckSearch(peer, oracle, {attribute, value})) return mismatch;
    }
  }
  return std::nullopt;
}

TEST_CASE("every peer answers all questions right", "[shard-peers]") {
  const std::string name = GENERATE(from_range(PeerNames()));
  CAPTURE(name);
  PeerWorld world(name);
  if (!world.peer) return;
  CHECK(world.peer->Name() == name);
  Lineitem lineitem({.bytes = std::uint64_t{1} << 18});
  const Oracle oracle(lineitem);
  world.peer->Build(lineitem);
  CHECK(VerifyAll(*world.peer, oracle).value_or("") == "");
  CHECK(Verify(*world.peer, oracle, {}).value_or("") == "");
  CHECK(world.peer->Bytes().Total() > oracle.raw_bytes() / 5);
  CHECK(world.peer->Bytes().Total() < oracle.raw_bytes() * 10);
}

TEST_CASE("peers keep empty values, lacking attributes, and values that others begin with",
          "[shard-peers]") {
  const std::string name = GENERATE("bytes", "bytes:5:3", "zstd", "rocksdb", "hash", "redis");
  CAPTURE(name);
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    CAPTURE(seed);
    PeerWorld world(name);
    if (!world.peer) return;
    VectorSource source = OddRecords(seed);
    const Oracle oracle(source);
    world.peer->Build(source);
    CHECK(VerifyAll(*world.peer, oracle).value_or("") == "");
    CHECK(Verify(*world.peer, oracle, {.gets = 50}).value_or("") == "");
  }
}

TEST_CASE("a self-index refuses what its text cannot tell apart", "[shard-peers]") {
  const Schema schema = Schema::Make({"a", "b"}, '|').value();
  for (const auto& [value, why] :
       {std::pair("x\n|y", "sdsl: a value has bytes that stand for something else"),
        std::pair("x|\x80y", "sdsl: a value has bytes that stand for something else"),
        std::pair("x", "sdsl: a value lacks attributes")}) {
    PeerWorld world("sdsl-sada");
    if (!world.peer) return;
    VectorSource source(schema, {{ToKey(1), value}});
    CHECK_THROWS_WITH(world.peer->Build(source), why);
  }
}

TEST_CASE("marks of attributes are bytes that no value has", "[shard-peers]") {
  const auto source_of = [](int bytes) {
    VectorSource::Made all{ToKey(1), "|"};
    for (int byte = 0; byte < bytes; ++byte) all.value += static_cast<char>(byte);
    return VectorSource(Schema::Make({"a", "b"}, '|').value(), {all});
  };
  // Three marks for two attributes.
  VectorSource source = source_of(253);
  const Oracle oracle(source);
  PeerWorld world("bytes");
  world.peer->Build(source);
  CHECK(VerifyAll(*world.peer, oracle).value_or("") == "");
  VectorSource too_many = source_of(254);
  PeerWorld other("bytes");
  CHECK_THROWS_WITH(other.peer->Build(too_many),
                    "values leave too few bytes to mark their attributes with");
}

TEST_CASE("a Redis with keys in it is refused", "[shard-peers]") {
  test::RedisServer redis({"--appendonly", "no"});
  CHECK(redis.Execute({"SET", "somebody's", "data"}) == "OK");
  const PeerOptions options{.redis = "127.0.0.1:" + std::to_string(redis.port())};
  CHECK_THROWS_WITH(MakePeers({"redis"}, options), Catch::Contains("has keys"));
  CHECK_THROWS_WITH(MakePeers({"redis"}, {.redis = "nonsense"}), "'nonsense' is no host:port");
}

/// Answers wrong in one way.
class Liar final : public ShardPeer {
 public:
  enum Lie { kNone, kByte, kNoKey, kAnyKey, kAtOnce, kMissing, kTooMuch, kTwice, kCount, kGrep };

  explicit Liar(Lie lie) : lie_(lie) {}

  [[nodiscard]] std::string Name() const override { return "liar"; }
  void Build(RecordSource& records) override { honest_->Build(records); }
  bool Get(std::string_view key, std::string& value) override {
    const bool found = honest_->Get(key, value);
    if (found && lie_ == kByte) value.back() ^= 1;
    if (found && lie_ == kNoKey) return false;
    return found || lie_ == kAnyKey;
  }
  void GetMany(std::span<const std::string_view> keys, std::span<std::string> values) override {
    honest_->GetMany(keys, values);
    if (lie_ == kAtOnce) std::swap(values.front(), values.back());
  }
  void Search(std::size_t attribute, std::string_view value,
              std::vector<RecordNumber>& records) override {
    honest_->Search(attribute, value, records);
    if (records.empty()) return;
    if (lie_ == kMissing) records.pop_back();
    if (lie_ == kTooMuch) records.push_back(1'000'000);
    if (lie_ == kTwice) records.push_back(records.back());
  }
  std::uint64_t Count(std::size_t attribute, std::string_view value) override {
    return honest_->Count(attribute, value) + (lie_ == kCount ? 1 : 0);
  }
  [[nodiscard]] bool CanGrep() const override { return lie_ == kGrep; }
  [[nodiscard]] Space Bytes() const override { return honest_->Bytes(); }

 private:
  const Lie lie_;
  const std::unique_ptr<ShardPeer> honest_ = MakeHashPeer();
};

TEST_CASE("a wrong answer is found, and told in what it is wrong", "[shard-peers]") {
  Lineitem lineitem({.bytes = 10'000});
  const Oracle oracle(lineitem);
  const auto mismatch_of = [&](Liar::Lie lie) {
    Liar liar(lie);
    liar.Build(lineitem);
    return Verify(liar, oracle, {.gets = 20, .searches = {.searches = 5}}).value_or("right");
  };
  CHECK(mismatch_of(Liar::kNone) == "right");
  const auto [lie, told] = GENERATE(table<Liar::Lie, std::string>({
      {Liar::kByte, "which differs from byte"},
      {Liar::kNoKey, "there is none such"},
      {Liar::kAnyKey, "which no record has"},
      {Liar::kAtOnce, "which differs from byte"},
      {Liar::kMissing, "is missing"},
      {Liar::kTooMuch, "record 1000000 is too much"},
      {Liar::kTwice, "is there twice"},
      {Liar::kCount, "a count of"},
      {Liar::kGrep, "0 keys instead of"},
  }));
  CHECK_THAT(mismatch_of(lie), Catch::StartsWith("liar: ") && Catch::Contains(told));
}

TEST_CASE("compressed keys find each record and no other", "[shard-peers]") {
  const auto seed = static_cast<std::uint64_t>(GENERATE(range(1, 20)));
  CAPTURE(seed);
  VectorSource source = OddRecords(seed);
  const Oracle oracle(source);
  SortedKeys keys;
  for (const auto& record : source.records()) keys.Add(View(record.key));
  keys.Finish();
  CHECK(keys.size() == oracle.size());
  for (const auto& record : source.records()) {
    const std::uint64_t number = ToNumber(View(record.key)).value();
    for (const std::uint64_t near : {number - 1, number, number + 1}) {
      CHECK(keys.Find(View(ToKey(near))) == oracle.Find(View(ToKey(near))));
    }
  }
  CHECK_FALSE(keys.Find(View(ToKey(0))));
  CHECK_FALSE(keys.Find(View(ToKey(std::numeric_limits<std::uint64_t>::max()))));
  CHECK_FALSE(keys.Find("short"));
}

TEST_CASE("compressed keys want 8 bytes each and an order", "[shard-peers]") {
  SortedKeys keys;
  keys.Add(View(ToKey(7)));
  CHECK_THROWS_WITH(keys.Add(View(ToKey(7))), "keys do not ascend");
  CHECK_THROWS_WITH(keys.Add("short"), "a key is not of 8 bytes");
  SortedKeys none;
  none.Finish();
  CHECK_FALSE(none.Find(View(ToKey(7))));
}

// Lists of one, of few, of more than a block, of all records and of every n-th.
TEST_CASE("compressed postings give back every list", "[shard-peers]") {
  SplitMix64 random(1);
  constexpr RecordNumber kRecords = 10'000;
  std::vector<std::vector<RecordNumber>> lists(64);
  Postings postings;
  for (RecordNumber record = 0; record < kRecords; ++record) {
    for (std::size_t i = 0; i < lists.size(); ++i) {
      const bool has = i == 0 || (i == 1 ? record == 9'999 : random.Below(i * i) == 0);
      if (!has) continue;
      postings.Add(i % 2, std::to_string(i), record);
      lists[i].push_back(record);
    }
  }
  postings.Finish();
  std::vector<RecordNumber> found;
  for (std::size_t i = 0; i < lists.size(); ++i) {
    CAPTURE(i);
    postings.Search(i % 2, std::to_string(i), found);
    CHECK(found == lists[i]);
    CHECK(postings.Count(i % 2, std::to_string(i)) == lists[i].size());
    // The same text, but of the other attribute.
    postings.Search(1 - i % 2, std::to_string(i), found);
    CHECK(found.empty());
    CHECK(postings.Count(1 - i % 2, std::to_string(i)) == 0);
  }
  Postings none;
  none.Finish();
  none.Search(0, "x", found);
  CHECK(found.empty());
}

}  // namespace
}  // namespace stout::bench::shard
