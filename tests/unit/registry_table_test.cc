#include "stout/core/registry_table.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tests/support/catch.h"

namespace stout {
namespace {

using Catch::Contains;

RangeRecord SetOf(std::vector<RangeRecord::Member> members) {
  return {.members = std::move(members)};
}

TEST_CASE("modes have names, and aa+sc is another name of ms+sc", "[registry]") {
  for (const auto mode : {ReplicationMode::kMsSc, ReplicationMode::kMsEc, ReplicationMode::kAaEc}) {
    CHECK(ParseReplicationMode(NameOf(mode)) == mode);
  }
  CHECK(ParseReplicationMode("aa+sc") == ReplicationMode::kMsSc);
  CHECK(NameOf(ReplicationMode::kMsSc) == "ms+sc");
  CHECK_FALSE(ParseReplicationMode("sc"));
}

TEST_CASE("a configuration out of range is refused with the setting and its limit", "[registry]") {
  CHECK_FALSE(WhyInvalid(ClusterConfig{}));
  const auto why = [](auto change) {
    ClusterConfig config;
    change(config);
    const RegistryChange first = ChangeConfig(config, 0);
    CHECK(WhyInvalid(first) == WhyInvalid(config));
    return WhyInvalid(config).value_or("");
  };
  CHECK_THAT(why([](auto& c) { c.replicas = 0; }), Contains("replicas"));
  CHECK_THAT(why([](auto& c) { c.min_in = 4; }), Contains("min-in is 4") && Contains("(3)"));
  CHECK_THAT(why([](auto& c) { c.ack = 0; }), Contains("ack is 0"));
  CHECK_THAT(why([](auto& c) { c.member_timeout = {}; }), Contains("member-timeout"));
  CHECK_THAT(why([](auto& c) { c.ranges = kMaxRanges + 1; }), Contains("65537"));
  CHECK_THAT(why([](auto& c) { c.partition = "a b"; }), Contains("'a b'"));
  CHECK_THAT(why([](auto& c) { c.partition = "a\n"; }), Contains("printable ASCII"));
  CHECK_THAT(why([](auto& c) { c.partition = "a\xff"; }), Contains("printable ASCII"));
}

TEST_CASE("a node that disagrees with the configuration is told all differences", "[registry]") {
  const ClusterConfig kept;
  ClusterConfig wanted = kept;
  CHECK_FALSE(WhyRefused(wanted, kept));
  wanted.replicas = 2;
  wanted.mode = ReplicationMode::kMsEc;
  const std::string why = WhyRefused(wanted, kept).value_or("");
  CHECK_THAT(why, Contains("mode is ms+sc, but this node was started with ms+ec") &&
                      Contains("replicas is 3, but this node was started with 2") &&
                      Contains("leave these options out") && !Contains("ack"));
}

TEST_CASE("a datalet may be in if a set names it, or cannot be read", "[registry]") {
  RegistryTable table;
  CHECK_FALSE(MayBeIn(table, "a"));
  table.sets[3].value = SetOf({{"a", true}, {"b", false}});
  CHECK(MayBeIn(table, "a"));
  CHECK_FALSE(MayBeIn(table, "b"));
  RangeRecord left = SetOf({{"a", true}, {"c", false}});
  left.members[1].since = left.merged = TimePoint(std::chrono::seconds(1));
  table.sets[4].value = left;
  CHECK(MayBeIn(table, "c"));  // the next sweep waits for it
  table.damaged["datalet/a"] = table.damaged["table/a"] = {};
  CHECK_FALSE(MayBeIn(table, "b"));
  table.damaged["set/4"] = {};
  CHECK(MayBeIn(table, "b"));
}

TEST_CASE("a change that is invalid is refused with the reason", "[registry]") {
  const auto why = [](const RegistryChange& change) { return WhyInvalid(change).value_or(""); };
  const RangeRecord::Member in{"a", true};
  const RangeRecord::Member out{"b", false};
  CHECK(why(ChangeSet(3, 7, SetOf({in, out}), 0)).empty());
  CHECK_THAT(why(ChangeSet(3, 7, SetOf({}), 0)), Contains("no member that is 'in'"));
  CHECK_THAT(why(ChangeSet(3, 7, SetOf({out}), 0)), Contains("the last one never leaves"));
  CHECK_THAT(why(ChangeSet(3, 7, SetOf({in, in}), 0)), Contains("'a' is twice"));
  CHECK_THAT(why(ChangeSet(kMaxRanges, 7, SetOf({in}), 0)), Contains("set/65536"));
  std::vector<RangeRecord::Member> many;
  for (int i = 0; i < 64; ++i) many.push_back({std::to_string(i), true});
  CHECK(why(ChangeSet(3, 7, SetOf(many), 0)).empty());
  many.push_back({"64", true});
  CHECK_THAT(why(ChangeSet(3, 7, SetOf(many), 0)), Contains("has 65 members, but may have 64"));
  constexpr std::uint64_t kTooLarge = std::uint64_t{1} << 63;
  CHECK(why(ChangeSet(3, 7, SetOf({in}), kTooLarge - 1)).empty());
  CHECK_THAT(why(ChangeSet(3, 7, SetOf({in}), kTooLarge)), Contains("no number"));
  CHECK_THAT(why(AddDatalet("a", {.url = "memory:"}, kTooLarge)), Contains("no number"));
  RegistryChange without_epoch = ChangeSet(3, 7, SetOf({in}), 0);
  without_epoch.owned.reset();
  CHECK_THAT(why(without_epoch), Contains("epoch"));
  RegistryChange other_range = ChangeSet(3, 7, SetOf({in}), 0);
  other_range.owned->range = 4;
  CHECK_THAT(why(other_range), Contains("epoch"));
  RegistryChange removed = ChangeSet(3, 7, SetOf({in}), 0);
  removed.value.reset();
  CHECK_THAT(why(removed), Contains("not removed"));

  CHECK(why(AddDatalet("n1:7001", {.url = "stout://n1:7001", .node = "n1:7001"}, 9)).empty());
  CHECK_THAT(why(AddDatalet("a/b", {.url = "memory:"}, 9)), Contains("'a/b'"));
  CHECK_THAT(why(AddDatalet("", {.url = "memory:"}, 9)), Contains("no name"));
  CHECK_THAT(why(AddDatalet("a", {}, 9)), Contains("URL"));
  CHECK_THAT(why(RemoveDatalet("a b")), Contains("'a b'"));
  CHECK(why(WantOwner(3, "a:1")).empty());
  CHECK(why(WantOwner(3, std::nullopt)).empty());
  CHECK_THAT(why(WantOwner(3, "")), Contains("use that of a node"));
  CHECK_THAT(why(WantOwner(kMaxRanges, "a:1")), Contains("wanted-owner/65536"));
  CHECK(why(CreateTable("orders_2", {})).empty());
  CHECK_THAT(why(CreateTable("Orders", {})), Contains("'Orders'") && Contains("a letter first"));
  CHECK_THAT(why(DropTable("", 7)), Contains("no name of a table"));
  CHECK(why(DropTable("orders", 7)).empty());
  CHECK_THAT(why(DropTable("orders", 0)), Contains("only under its revision"));
  CHECK(DroppedTable(DropTable("orders", 7)) == "orders");
  CHECK(DroppedTable(CreateTable("orders", {})).empty());
  CHECK(DroppedTable(RemoveDatalet("orders")).empty());
}

}  // namespace
}  // namespace stout
