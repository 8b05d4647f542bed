// The pure parts of the store on Redis Cluster: slots, who serves them, redirections.

#include <algorithm>
#include <set>

#include "cluster/cluster_write.h"
#include "cluster/placement.h"
#include "cluster/redirection.h"
#include "cluster/slot_map.h"
#include "cluster/slot_set.h"
#include "scan.h"
#include "store_test_support.h"
#include "stout/adapters/hash_slot.h"
#include "tests/support/catch.h"

namespace stout::redis {
namespace {

using Kind = Redirection::Kind;

Reply Integer(std::int64_t number) { return {.kind = Reply::Kind::kInteger, .integer = number}; }
Reply String(std::string text) { return {.kind = Reply::Kind::kString, .text = std::move(text)}; }
Reply Array(std::vector<Reply> elements) {
  return {.kind = Reply::Kind::kArray, .elements = std::move(elements)};
}
Reply Node(std::string host, std::int64_t port) {
  return Array({String(std::move(host)), Integer(port), String("id"), Array({})});
}

const RedisAddress kAsked{"10.0.0.9", 7000};

TEST_CASE("redis cluster: the slot of a key, as the server has it") {
  // As CLUSTER KEYSLOT of Redis 7.0 answered.
  CHECK(SlotOf("") == 0);
  CHECK(SlotOf("foo") == 12182);
  CHECK(SlotOf("123456789") == 12739);
  CHECK(SlotOf(std::string_view("\0\xff", 2)) == 7920);
}

TEST_CASE("redis cluster: only the first hash tag counts, and an empty one is none") {
  CHECK(SlotOf("{user1000}.following") == SlotOf("user1000"));
  CHECK(SlotOf("foo{{bar}}zap") == SlotOf("{bar"));
  CHECK(SlotOf("foo{bar}{zap}") == SlotOf("bar"));
  CHECK(SlotOf("foo{}{bar}") == 8363);
  CHECK(SlotOf("foo{bar") != SlotOf("bar"));
  CHECK(SlotOf("}foo{bar}") == SlotOf("bar"));
}

TEST_CASE("redis cluster: every slot has a tag of its own") {
  std::set<std::string> seen;
  for (std::size_t slot = 0; slot < kSlots; ++slot) {
    const std::string& tag = SlotTags()[slot];
    seen.insert(tag);
    if (SlotOf("{" + tag + "}key{other}") != slot || tag.size() > 6) FAIL(slot << ": " << tag);
  }
  CHECK(seen.size() == kSlots);
}

TEST_CASE("redis cluster: redirections") {
  CHECK(ParseRedirection("MOVED 3999 127.0.0.1:6381", kAsked) ==
        Redirection{Kind::kMoved, 3999, {"127.0.0.1", 6381}});
  CHECK(ParseRedirection("ASK 0 db-1.example:1", kAsked) ==
        Redirection{Kind::kAsk, 0, {"db-1.example", 1}});
  CHECK(ParseRedirection("MOVED 16383 ::1:6381", kAsked) ==
        Redirection{Kind::kMoved, 16383, {"::1", 6381}});
  // A node that does not know the host of the other means its own.
  CHECK(ParseRedirection("MOVED 1 :6381", kAsked) ==
        Redirection{Kind::kMoved, 1, {"10.0.0.9", 6381}});
  for (const char* other : {"MOVED", "MOVED 1", "MOVED x h:1", "MOVED 16384 h:1", "MOVED 1 h:0",
                            "ASK 1 h:65536", "ERR 1 h:1", "TRYAGAIN Multiple keys request", ""}) {
    CAPTURE(other);
    CHECK_FALSE(ParseRedirection(other, kAsked));
  }
}

TEST_CASE("redis cluster: the map of slots") {
  const RedisAddress a{"10.0.0.1", 7001}, b{"10.0.0.2", 7002}, c{"10.0.0.9", 7003};
  // Not in the order of slots; one range in two parts; one node that means the host that we asked.
  auto map = SlotMap::Parse(
      Array({Array({Integer(100), Integer(200), Node(b.host, b.port), Node("10.0.0.4", 7004)}),
             Array({Integer(0), Integer(99), Node(a.host, a.port)}),
             Array({Integer(16383), Integer(16383), Node(b.host, b.port), Node("10.0.0.4", 7004)}),
             Array({Integer(300), Integer(300), Node("", 7003)})}),
      kAsked);
  REQUIRE(map);
  REQUIRE(map->masters().size() == 3);
  CHECK(map->masters()[0].address == a);
  CHECK(map->masters()[1].replicas == std::vector<RedisAddress>{{"10.0.0.4", 7004}});
  CHECK(*map->OwnerOf(0) == a);
  CHECK(*map->OwnerOf(150) == b);
  CHECK(*map->OwnerOf(16383) == b);
  CHECK(*map->OwnerOf(300) == c);
  CHECK(map->OwnerOf(201) == nullptr);
  CHECK(map->OwnerIndexOf(201) == 3);
  CHECK(map->slots_served() == 203);
  CHECK(map->Nodes() == std::vector<RedisAddress>{a, b, c, {"10.0.0.4", 7004}});

  CHECK(map->RangeEnds() == std::vector<Slot>{99, 200, 299, 300, 16382, 16383});

  const SlotMap before = *map;
  CHECK(map->SameOwners(before));
  map->Move(0, b);
  CHECK_FALSE(map->SameOwners(before));
  map->Move(0, a);
  CHECK(map->SameOwners(before));
  map->Move(0, b);
  map->Move(201, {"10.0.0.5", 7005});
  CHECK(*map->OwnerOf(0) == b);
  CHECK(*map->OwnerOf(1) == a);
  CHECK(*map->OwnerOf(201) == RedisAddress{"10.0.0.5", 7005});
  CHECK(map->masters().size() == 4);
}

TEST_CASE("redis cluster: what is no map of slots") {
  CHECK_FALSE(SlotMap::Parse(String("ERR This instance has cluster support disabled"), kAsked));
  CHECK_FALSE(SlotMap::Parse(Array({Array({Integer(0), Integer(1)})}), kAsked));
  CHECK_FALSE(SlotMap::Parse(Array({Array({Integer(2), Integer(1), Node("h", 1)})}), kAsked));
  CHECK_FALSE(SlotMap::Parse(Array({Array({Integer(0), Integer(16384), Node("h", 1)})}), kAsked));
  // Nobody serves anything, which a cluster may well say.
  const auto empty = SlotMap::Parse(Array({}), kAsked);
  REQUIRE(empty);
  CHECK(empty->slots_served() == 0);
}

std::vector<Slot> SlotsOf(ClusterWrite write) {
  std::vector<Slot> slots;
  for (const Request& request : write.requests()) slots.push_back(request.slot);
  return slots;
}

TEST_CASE("redis cluster: sets of slots as text") {
  for (const std::string text : {"", "0", "16383", "0-16383", "0-5460 5462 6000-6001"}) {
    const auto slots = ParseSlots(text);
    REQUIRE(slots);
    CHECK(PrintSlots(*slots) == text);
  }
  for (const char* text : {"16384", "a", "-", "-1", "1-16384", " 1", "1  2", "1,2"}) {
    CAPTURE(text);
    CHECK_FALSE(ParseSlots(text));
  }
}

TEST_CASE("redis cluster: a node's view of itself") {
  const auto view = ParseNodeView(
      "aa 127.0.0.1:1@11 slave bb 0 0 3 connected\n"
      "bb 127.0.0.1:2@12 myself,master - 0 0 7 connected 0-3 9 [2->-cc] [9-<-aa]\n"
      "cc 127.0.0.1:3@13 master - 0 0 8 connected 4-8\n");
  REQUIRE(view);
  CHECK(view->config_epoch == "7");
  CHECK(PrintSlots(view->settled) == "0-1 3");
  const auto replica = ParseNodeView("aa 127.0.0.1:1@11 myself,slave bb 0 0 3 connected\n");
  REQUIRE(replica);
  CHECK(replica->settled.none());
  CHECK_FALSE(ParseNodeView(""));
  CHECK_FALSE(ParseNodeView("aa 127.0.0.1:1@11 master - 0 0 3 connected 0-1\n"));
  CHECK_FALSE(ParseNodeView("aa 127.0.0.1:1@11 myself,master - 0 0 3 connected x\n"));
  CHECK_FALSE(ParseNodeView("aa 127.0.0.1:1@11 myself,master - 0 0 3 connected 1 [x->-b]\n"));
}

TEST_CASE("redis: the place of a scan") {
  const ScanPlace place{
      .server = "p", .position = "12", .done = "0-1", .keys = {"", std::string(300, 'k')}};
  const std::string cursor = place.Encode('c');
  const auto decoded = ScanPlace::Decode('c', cursor);
  REQUIRE(decoded);
  CHECK(decoded->Encode('c') == cursor);
  CHECK(decoded->keys == place.keys);
  CHECK_FALSE(ScanPlace::Decode('r', cursor));
  CHECK_FALSE(ScanPlace::Decode('c', ScanPlace{.position = "1 COUNT"}.Encode('c')));
  // A cut cursor is one of fewer keys, or none.
  for (std::size_t size = 1; size < cursor.size(); ++size) {
    const auto cut = ScanPlace::Decode('c', cursor.substr(0, size));
    if (cut) CHECK(cut->keys.size() < place.keys.size());
  }
}

TEST_CASE("redis cluster: a batch becomes a request for each slot") {
  const WriteBatch batch = test::Batch(1, {test::Put("{a}1", "v", 1), test::Put("{b}1", "v", 2),
                                           test::Delete("{a}2", 3), test::Put("{a}3", "v", 4)});
  std::vector<Slot> slots = {SlotOf("a"), SlotOf("b")};
  std::sort(slots.begin(), slots.end());
  CHECK(SlotsOf(ClusterWrite(batch, Layout({}), RedisMode::kVersioned)) == slots);
  // MSET and DEL are commands of their own, and a request is one.
  slots.push_back(SlotOf("a"));
  std::sort(slots.begin(), slots.end());
  const Layout plain({.mode = RedisMode::kPlain});
  CHECK(SlotsOf(ClusterWrite(batch, plain, RedisMode::kPlain)) == slots);
  // The effect of a prefix in braces is the user's wish.
  const Layout together({.prefix = "{app}"});
  CHECK(SlotsOf(ClusterWrite(batch, together, RedisMode::kVersioned)) ==
        std::vector{SlotOf("app")});
}

TEST_CASE("redis cluster: a fence lies in the slot that it guards") {
  const Layout layout({.prefix = "{app}:"});
  for (const Slot slot : {0, 1, 8191, 16383}) {
    CHECK(SlotOf(FenceKeyIn(slot, layout, "range/{7}")) == slot);
  }
}

}  // namespace
}  // namespace stout::redis
