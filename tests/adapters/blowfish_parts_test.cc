// The parts of the store blowfish: that need no server: what is said, what answers mean, and which
// key is of which shard.

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "blowfish/client/answers.h"
#include "blowfish/client/requests.h"
#include "blowfish/client/split.h"
#include "blowfish/index/shard_of.h"
#include "reply_test_support.h"
#include "store_test_support.h"
#include "stout/core/random.h"
#include "tests/support/catch.h"

namespace stout::blowfish::client {
namespace {

using namespace std::string_literals;
using resp::Integer;
using resp::List;
using Kind = Reply::Kind;
using test::Batch;
using test::Delete;
using test::Found;
using test::Put;
using test::Scoped;

Reply Word(std::string text) { return resp::Text(Kind::kStatus, std::move(text)); }
Reply Bytes(std::string text) { return resp::Text(Kind::kString, std::move(text)); }
const Reply kNull{};

TEST_CASE("blowfish: the shard of a key, for good", "[blowfish]") {
  // As xxHash 0.8.1 has them; of no bytes it is 0x2d06800538d394c2.
  CHECK(ShardOf("", 1000) == 138);
  CHECK(ShardOf("a", 1000) == 719);
  CHECK(ShardOf("session:12345", 1000) == 243);
  CHECK(ShardOf("\0\xff"s, 1000) == 83);
  CHECK(ShardOf("anything", 1) == 0);
}

TEST_CASE("blowfish: every item goes to the shard of its key, in its order", "[blowfish]") {
  const std::uint64_t seed = GENERATE(take(50, random(0, 1 << 30)));
  CAPTURE(seed);
  SplitMix64 random(seed);
  const auto shards = static_cast<LaneId>(1 + random.Below(9));
  std::vector<std::string> keys;
  std::vector<WriteItem> items;
  for (std::uint64_t i = random.Below(40); i > 0; --i) {
    keys.push_back("key" + std::to_string(random.Next()));
    items.push_back(Put(keys.back(), "v", i));
  }
  const Split split = SplitByShard(keys, shards);
  CHECK(split == SplitByShard(items, shards));
  // The model: ask each shard which keys it has.
  Split model;
  for (LaneId shard = 0; shard < shards; ++shard) {
    std::vector<std::uint32_t> places;
    for (std::uint32_t i = 0; i < keys.size(); ++i) {
      if (ShardOf(keys[i], shards) == shard) places.push_back(i);
    }
    if (places.empty()) continue;
    model.shards.push_back(shard);
    model.items.push_back(places);
  }
  CHECK(split == model);
}

TEST_CASE("blowfish: what is said", "[blowfish]") {
  CHECK(AskForShards().bytes() == "*1\r\n$12\r\nSTOUT.SHARDS\r\n");
  CHECK(EncodeNewEpoch().bytes() == "*1\r\n$11\r\nSTOUT.EPOCH\r\n");
  CHECK(EncodeFence("s\r\n", ~Epoch{0}).bytes() ==
        "*3\r\n$11\r\nSTOUT.FENCE\r\n$3\r\ns\r\n\r\n$20\r\n18446744073709551615\r\n");
  const WriteBatch batch =
      Scoped("s", Batch(7, {Put("left out", "", 1), Put("k\0"s, "v", 2), Delete("", ~Version{0})}));
  const Commands write = EncodeWrite(batch, std::vector<std::uint32_t>{1, 2}, 3);
  CHECK(write.count() == 1);
  CHECK(write.bytes() ==
        "*11\r\n$11\r\nSTOUT.WRITE\r\n$1\r\n3\r\n$1\r\ns\r\n$1\r\n7\r\n"
        "$3\r\nPUT\r\n$2\r\nk\0\r\n$1\r\n2\r\n$1\r\nv\r\n"
        "$3\r\nDEL\r\n$0\r\n\r\n$20\r\n18446744073709551615\r\n"s);
  CHECK(EncodeRead(std::vector{"a"s, "b"s, "c"s}, std::vector<std::uint32_t>{0, 2}, 12).bytes() ==
        "*4\r\n$10\r\nSTOUT.READ\r\n$2\r\n12\r\n$1\r\na\r\n$1\r\nc\r\n");
  CHECK(EncodeRead(std::vector{"a"s}, std::vector<std::uint32_t>{0}, 0, "shop").bytes() ==
        "*2\r\n$9\r\nSTOUT.TAG\r\n$4\r\nshop\r\n"
        "*3\r\n$10\r\nSTOUT.READ\r\n$1\r\n0\r\n$1\r\na\r\n");
  CHECK(EncodeRead(std::vector{"a"s}, std::vector<std::uint32_t>{0}, 0, "", false).bytes() ==
        "*3\r\n$12\r\nSTOUT.STAMPS\r\n$1\r\n0\r\n$1\r\na\r\n");
  CHECK(EncodeScan({.cursor = {}, .limit = 5}, {.shard = 3}).bytes() ==
        "*4\r\n$10\r\nSTOUT.SCAN\r\n$1\r\n3\r\n$1\r\n5\r\n$6\r\nVALUES\r\n");
  CHECK(
      EncodeScan({.cursor = {}, .limit = 5, .values = false}, {.shard = 3, .after = ""}).bytes() ==
      "*6\r\n$10\r\nSTOUT.SCAN\r\n$1\r\n3\r\n$1\r\n5\r\n$6\r\nSTAMPS\r\n"
      "$5\r\nAFTER\r\n$0\r\n\r\n");
}

TEST_CASE("blowfish: searches, and what was found", "[blowfish]") {
  using Match = SearchRequest::Match;
  CHECK(EncodeSearch({.text = "x", .limit = 5}).bytes() ==
        "*4\r\n$4\r\nGREP\r\n$1\r\nx\r\n$5\r\nLIMIT\r\n$1\r\n5\r\n");
  SearchRequest request{.match = Match::kBegins, .attribute = "city", .text = "x", .limit = 5};
  CHECK(
      EncodeSearch(request).bytes() ==
      "*6\r\n$6\r\nSEARCH\r\n$4\r\ncity\r\n$1\r\nx\r\n$6\r\nPREFIX\r\n$5\r\nLIMIT\r\n$1\r\n5\r\n");
  request.match = Match::kEquals;
  CHECK(EncodeSearch(request).bytes() ==
        "*5\r\n$6\r\nSEARCH\r\n$4\r\ncity\r\n$1\r\nx\r\n$5\r\nLIMIT\r\n$1\r\n5\r\n");

  CHECK(DecodeSearch(List({Bytes("a"), Bytes("b")}))->keys == std::vector<std::string>{"a", "b"});
  CHECK(DecodeSearch(List({})));
  CHECK_FALSE(DecodeSearch(List({Bytes("a"), Integer(1)})));
  CHECK_FALSE(DecodeSearch(Integer(1)));

  const auto schema = [](Reply delimiter, std::vector<Reply> names) {
    return DecodeSchema(List(
        {Bytes("delimiter"), std::move(delimiter), Bytes("attributes"), List(std::move(names))}));
  };
  CHECK(schema(Bytes("|"), {Bytes("a"), Bytes("b")}) == Schema::Make({"a", "b"}, '|').value());
  CHECK_FALSE(schema(Bytes("||"), {Bytes("a")}));
  CHECK_FALSE(schema(Bytes("|"), {}));
  CHECK_FALSE(DecodeSchema(List({})));
}

TEST_CASE("blowfish: the place of a scan", "[blowfish]") {
  for (const auto& [shard, after] : std::vector<std::pair<LaneId, std::optional<std::string>>>{
           {0, {}}, {3, {}}, {3, ""}, {2, "k"}, {2, "/:\0"s}}) {
    const auto place = ScanPlace::Decode(ScanPlace{shard, after}.Encode(), 4);
    REQUIRE(place);
    CHECK(place->shard == shard);
    CHECK(place->after == after);
  }
  CHECK(ScanPlace::Decode("", 4)->shard == 0);
  CHECK(ScanPlace::Decode("kkey\0"s, 1)->after == "key");
  CHECK_FALSE(ScanPlace::Decode("kkey\0"s, 4));
  CHECK_FALSE(ScanPlace::Decode("kkey", 1));
  for (const char* cursor : {"b", "b4:", "b1", "b1:k", "b-1:", "b:", "k1:", "1:", "b1.k"}) {
    CAPTURE(cursor);
    CHECK_FALSE(ScanPlace::Decode(cursor, 4));
  }
}

TEST_CASE("blowfish: what was scanned", "[blowfish]") {
  const auto decode = [](std::vector<Reply> page) {
    return DecodeScan(List({Integer(0), List(std::move(page))}));
  };
  const auto page = decode({Integer(1), Bytes("a"), List({Integer(1), Integer(2), Bytes("v")}),
                            Bytes("b"), List({Integer(1), Integer(3), kNull})});
  REQUIRE(page);
  CHECK(page->more);
  CHECK(page->keys ==
        std::vector<ScannedKey>{{"a", Found("v", {1, 2})}, {"b", StoredState{.stamp = {1, 3}}}});
  CHECK(decode({Integer(0)}));
  CHECK_FALSE(decode({Integer(1)}));  // The scan would not end.
  CHECK_FALSE(decode({Integer(2), Bytes("a"), kNull}));
  CHECK_FALSE(decode({Integer(0), Bytes("a")}));
  CHECK_FALSE(decode({Integer(0), Integer(1), kNull}));
  CHECK_FALSE(decode({}));
  CHECK_FALSE(DecodeScan(List({Integer(0), Integer(0)})));
}

TEST_CASE("blowfish: what a server says of itself", "[blowfish]") {
  const auto facts = [](std::vector<Reply> elements) {
    return DecodeShards(List(std::move(elements)));
  };
  CHECK(facts({Bytes("version"), Integer(1), Bytes("shards"), Integer(4), Bytes("max-batch-items"),
               Integer(1000), Bytes("max-batch-bytes"), Integer(65536), Bytes("tombstone-ms"),
               Integer(3600000)}) == ServerFacts{1, 4, 1000, 65536});
  // In any order, as text too, and with what is not known yet.
  CHECK(facts({Word("max-batch-bytes"), Bytes("65536"), Word("colour"), List({}), Word("shards"),
               Bytes("1"), Word("max-batch-items"), Bytes("1"), Word("version"), Bytes("1")}) ==
        ServerFacts{1, 1, 1, 65536});
  CHECK(facts({Word("max-value"), Integer(100), Word("max-batch-bytes"), Integer(65536),
               Word("shards"), Integer(1), Word("max-batch-items"), Integer(1), Word("version"),
               Integer(1)}) == ServerFacts{1, 1, 1, 65536, 100});
  ServerFacts identified{1, 4, 1000, 65536};
  identified.data_id = "0f";
  CHECK(facts({Bytes("data-id"), Bytes("0f"), Bytes("version"), Integer(1), Bytes("shards"),
               Integer(4), Bytes("max-batch-items"), Integer(1000), Bytes("max-batch-bytes"),
               Integer(65536)}) == identified);
  ServerFacts forgetful{1, 4, 1000, 65536};
  forgetful.tombstone_ttl = std::chrono::minutes(1);
  CHECK(facts({Bytes("version"), Integer(1), Bytes("shards"), Integer(4), Bytes("max-batch-items"),
               Integer(1000), Bytes("max-batch-bytes"), Integer(65536), Bytes("tombstone-ms"),
               Integer(60'000)}) == forgetful);
  identified.durable = false;
  CHECK(facts({Bytes("durable"), Integer(0), Bytes("data-id"), Bytes("0f"), Bytes("version"),
               Integer(1), Bytes("shards"), Integer(4), Bytes("max-batch-items"), Integer(1000),
               Bytes("max-batch-bytes"), Integer(65536)}) == identified);
  CHECK(facts({Bytes("version"), Integer(2), Bytes("shards"), List({})}) ==
        ServerFacts{.version = 2});
  const auto with = [&](Reply version, Reply shards, Reply items, Reply bytes) {
    return facts({Bytes("version"), std::move(version), Bytes("shards"), std::move(shards),
                  Bytes("max-batch-items"), std::move(items), Bytes("max-batch-bytes"),
                  std::move(bytes)});
  };
  CHECK(with(Integer(1), Integer(65'536), Integer(1), Integer(1)));
  CHECK_FALSE(with(Integer(0), Integer(1), Integer(1), Integer(1)));
  CHECK_FALSE(with(Integer(1), Integer(0), Integer(1), Integer(1)));
  CHECK_FALSE(with(Integer(1), Integer(65'537), Integer(1), Integer(1)));
  CHECK_FALSE(with(Integer(1), Integer(std::int64_t{1} << 32), Integer(1), Integer(1)));
  CHECK_FALSE(with(Integer(1), Integer(-1), Integer(1), Integer(1)));
  CHECK_FALSE(with(Integer(1), Bytes("1x"), Integer(1), Integer(1)));
  CHECK_FALSE(with(Integer(1), Integer(1), Integer(0), Integer(1)));
  CHECK_FALSE(with(Integer(1), Integer(1), Integer(1), kNull));
  CHECK_FALSE(facts({}));
  CHECK_FALSE(facts({Bytes("version")}));
  CHECK_FALSE(DecodeShards(Word("OK")));
  CHECK_FALSE(DecodeShards(kNull));
}

TEST_CASE("blowfish: what became of a batch", "[blowfish]") {
  const std::vector<std::uint32_t> items = {5, 7, 9};  // of the batch, those that were sent
  const auto decode = [&](std::vector<Reply> elements) {
    return DecodeWrite(List(std::move(elements)), items);
  };
  const auto number = [](std::int64_t n) { return Integer(n); };
  CHECK(decode({number(0), Word("OK")}) == WriteResult{});
  CHECK(decode({number(9), Word("TRANSIENT")}) == WriteResult{Errc::kTransient, {}});
  CHECK(decode({number(9), Word("UNKNOWN")}) == WriteResult{Errc::kUnknown, {}});
  CHECK(decode({number(9), Word("REFUSED")}) == WriteResult{Errc::kRefused, {}});
  CHECK(decode({number(9), Word("TOOLARGE")}) == WriteResult{Errc::kTooLarge, {}});
  CHECK(decode({number(9), Bytes("FENCED")}) == WriteResult{Errc::kFenced, {}});
  CHECK(decode({number(0), Word("OK"), number(0), Word("FENCED"), number(2), Word("REFUSED")}) ==
        WriteResult{Errc::kOk, {{5, Errc::kFenced}, {9, Errc::kRefused}}});

  CHECK(decode({number(0), Word("LOST")}) == WriteResult{Errc::kLost, {}});
  const auto error = [](const char* text) { return ErrorOf(resp::Text(Kind::kError, text)); };
  CHECK(error("LOST the datalet: gone") == Errc::kLost);
  CHECK(error("CORRUPT") == Errc::kCorrupt);
  CHECK(error("SHARDDOWN shard 1: /data/shard-0001: missing") == Errc::kCorrupt);
  CHECK(error("OK") == Errc::kTransient);
  CHECK(error("TRYAGAIN the datalet: busy") == Errc::kTransient);
  CHECK(error("ERR Protocol error: too big") == Errc::kTooLarge);

  const Reply ok = Word("OK");
  const Reply fenced = Word("FENCED");
  const std::vector<std::vector<Reply>> nonsense = {
      {},
      {number(0)},
      {ok},
      {number(-1), ok},
      {Word("many"), ok},
      {number(0), Word("ok")},
      {number(0), Word("")},
      {number(0), kNull},
      {number(0), number(0)},
      {number(0), resp::Text(Kind::kError, "OK")},
      {number(0), ok, number(0)},                             // and what of it?
      {number(0), ok, number(3), fenced},                     // there is none
      {number(0), ok, number(-1), fenced},                    //
      {number(0), ok, number(0), ok},                         // is no error
      {number(0), ok, number(1), fenced, number(1), fenced},  // twice
      {number(0), ok, number(1), fenced, number(0), fenced},  // not in order
      {number(0), ok, fenced, number(0)},                     //
      {number(0), ok, List({number(0), fenced})},             //
  };
  for (std::size_t i = 0; i < nonsense.size(); ++i) {
    CAPTURE(i);
    CHECK_FALSE(decode(nonsense[i]));
  }
  CHECK_FALSE(DecodeWrite(ok, items));
  CHECK_FALSE(DecodeWrite(kNull, items));
}

TEST_CASE("blowfish: what was read", "[blowfish]") {
  const auto decode = [](std::vector<Reply> elements, std::size_t keys) {
    return DecodeRead(List(std::move(elements)), keys);
  };
  CHECK(decode({Integer(3)}, 0) == ReadResult{Errc::kOk, {}, 3});
  // The keys of this read are among those that wait.
  CHECK(decode({Integer(5), kNull, kNull}, 2) == ReadResult{Errc::kOk, {{}, {}}, 3});
  CHECK(decode({Integer(1), kNull, kNull}, 2) == ReadResult{Errc::kOk, {{}, {}}, 0});
  CHECK(decode({Integer(3), List({Integer(1), Bytes("18446744073709551615"), Bytes("v\0"s)}), kNull,
                List({Integer(1), Integer(3), kNull}), List({Integer(2), Integer(4), Bytes("")})},
               4)
            ->states == std::vector{Found("v\0"s, {1, ~Version{0}}), StoredState{},
                                    StoredState{.stamp = {1, 3}}, Found("", {2, 4})});

  CHECK(decode({Integer(0), resp::Text(Kind::kError, "CORRUPT it is")}, 1)->states ==
        std::vector{StoredState{.errc = Errc::kCorrupt}});
  CHECK_FALSE(decode({Integer(0), resp::Text(Kind::kError, "OK")}, 1));
  const Reply state = List({Integer(1), Integer(1), Bytes("v")});
  CHECK(decode({Integer(0), state}, 1));
  CHECK_FALSE(decode({Integer(0), state}, 0));
  CHECK_FALSE(decode({Integer(0), state}, 2));
  CHECK_FALSE(decode({state}, 1));
  for (const Reply& wrong :
       {Bytes("v"), Word("OK"), Integer(1), List({}), List({Integer(1), Integer(1)}),
        List({Integer(-1), Integer(1), Bytes("v")}), List({Integer(1), kNull, Bytes("v")}),
        List({Integer(1), Integer(1), Integer(1)}), List({Integer(1), Integer(1), List({})}),
        List({Integer(1), Integer(1), Bytes("v"), Bytes("w")}),
        resp::Text(Kind::kError, "ERR no")}) {
    CAPTURE(wrong);
    CHECK_FALSE(decode({Integer(0), wrong}, 1));
  }
}

TEST_CASE("blowfish: epochs and fences", "[blowfish]") {
  CHECK(DecodeNewEpoch(List({Integer(0), Integer(8)})) == Epoch{8});
  CHECK(DecodeNewEpoch(List({Integer(0), Bytes("9223372036854775808")})) == Epoch{1} << 63);
  for (const Reply& wrong : {Integer(8), List({Integer(8)}), List({Integer(0), Integer(0)}),
                             List({Integer(0), Integer(-8)}), List({Integer(0), kNull}),
                             List({Integer(0), Bytes("18446744073709551616")}),
                             List({Integer(0), Integer(8), Integer(8)})}) {
    CHECK_FALSE(DecodeNewEpoch(wrong));
  }
  CHECK(DecodeFence(List({Integer(0), Word("OK")})) == Errc::kOk);
  CHECK(DecodeFence(List({Integer(0), Word("FENCED")})) == Errc::kFenced);
  for (const Reply& wrong : {Word("OK"), List({Word("OK")}), List({Integer(0), Integer(1)}),
                             List({Integer(0), Word("OK"), Word("OK")})}) {
    CHECK_FALSE(DecodeFence(wrong));
  }
}

}  // namespace
}  // namespace stout::blowfish::client
