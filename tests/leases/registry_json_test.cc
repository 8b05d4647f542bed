// The registry's records as JSON: stable for operators and later versions, strict about rubbish.

#include "stout/adapters/registry_json.h"

#include <chrono>
#include <limits>

#include "tests/support/catch.h"

namespace stout {
namespace {

using namespace std::chrono_literals;

// What a table has after this record.
RegistryTable TableWith(std::string_view key, std::string_view text) {
  RegistryTable table;
  AddRecord(key, "record X", text, 7, &table);
  return table;
}

std::string WhyDamaged(const std::string& key, std::string_view text) {
  const RegistryTable table = TableWith(key, text);
  RegistryTable expected;
  expected.damaged = table.damaged;
  CHECK(table == expected);  // nothing of it is used
  REQUIRE(table.damaged.count(key) == 1);
  CHECK(table.damaged.at(key).revision == 7);
  CHECK_THAT(table.damaged.at(key).value,
             Catch::StartsWith("record X cannot be used: ") &&
                 Catch::Contains("; correct it there, and it is taken up at once"));
  return table.damaged.at(key).value;
}

}  // namespace

TEST_CASE("records have the JSON that is documented, and are read as they were written",
          "[registry]") {
  ClusterConfig config;
  config.mode = ReplicationMode::kMsEc;
  const std::string config_text = EncodeRecord(config);
  CHECK(config_text == R"({"mode":"ms+ec","replicas":3,"min_in":1,"ack":1,)"
                       R"("member_timeout_us":2000000,"partition":"slots","ranges":16})");
  RegistryTable expected;
  expected.config = {config, 7};
  CHECK(TableWith("config", config_text) == expected);

  expected = {};
  expected.tables["orders"] = {config, 7};
  CHECK(TableWith("table/orders", config_text) == expected);

  const Datalet datalet{"stout://n1:7001", "n1:7001", 4'000'000'000, TimePoint(1s + 5us)};
  const std::string datalet_text = EncodeRecord(datalet);
  CHECK(datalet_text == R"({"url":"stout://n1:7001","node":"n1:7001","capacity":4000000000,)"
                        R"("since_us":1000005})");
  expected = {};
  expected.datalets["n1"] = {datalet, 7};
  CHECK(TableWith("datalet/n1", datalet_text) == expected);

  Datalet leaving = datalet;
  leaving.leaving = true;
  CHECK(EncodeRecord(leaving) ==
        datalet_text.substr(0, datalet_text.size() - 1) + R"(,"leaving":true})");
  expected.datalets["n1"] = {leaving, 7};
  CHECK(TableWith("datalet/n1", EncodeRecord(leaving)) == expected);

  Datalet lazy = datalet;
  lazy.lazy = true;
  CHECK(EncodeRecord(lazy) == datalet_text.substr(0, datalet_text.size() - 1) + R"(,"lazy":true})");
  expected.datalets["n1"] = {lazy, 7};
  CHECK(TableWith("datalet/n1", EncodeRecord(lazy)) == expected);

  const std::string wanted_text = EncodeRecord(WantedOwner{"n1:7001"});
  CHECK(wanted_text == R"({"node":"n1:7001"})");
  expected = {};
  expected.wanted_owners[3] = {{"n1:7001"}, 7};
  CHECK(TableWith("wanted-owner/3", wanted_text) == expected);

  const std::string clock_text = EncodeRecord(ReservedVersions{12});
  CHECK(clock_text == R"({"until_us":12})");
  expected = {};
  expected.clocks[1023] = {{12}, 7};
  CHECK(TableWith("clock/1023", clock_text) == expected);
  CHECK_FALSE(TableWith("clock/1024", clock_text).damaged.empty());

  const RangeRecord set{
      .members = {{"n1", true, TimePoint(1us)}, {"pg", false, TimePoint(2us), {9, 4}, "a/0"}},
      .closed = {{std::numeric_limits<Epoch>::max(), 12}, {5, 0}},
      .swept = 4,
      .strong = false};
  const std::string set_text = EncodeRecord(set);
  CHECK(set_text ==
        R"({"members":[{"datalet":"n1","in":true,"since_us":1},)"
        R"({"datalet":"pg","in":false,"since_us":2,"entered":[9,4],"incarnation":"a/0"}],)"
        R"("closed":[[5,0],[18446744073709551615,12]],)"
        R"("swept":4,"strong":false})");
  expected = {};
  expected.sets[65535] = {set, 7};
  CHECK(TableWith("set/65535", set_text) == expected);
  RangeRecord shared = set;
  shared.shared = 9;
  shared.merged = TimePoint(8us);
  CHECK(EncodeRecord(shared) ==
        set_text.substr(0, set_text.size() - 1) + R"(,"shared":9,"merged_us":8})");
  expected.sets[65535] = {shared, 7};
  CHECK(TableWith("set/65535", EncodeRecord(shared)) == expected);
  expected.sets[65535] = {set, 7};
  // Earlier versions wrote a revision.
  CHECK(TableWith("set/65535", set_text.substr(0, set_text.size() - 1) + R"(,"revision":9})") ==
        expected);
}

TEST_CASE("a record of another kind is skipped", "[registry]") {
  CHECK(TableWith("something", "else") == RegistryTable{});
  CHECK(TableWith("sets", "{}") == RegistryTable{});
}

TEST_CASE("a record with rubbish is not used, and the error names the field", "[registry]") {
  using Catch::Contains;
  const std::string set =
      R"({"members":[{"datalet":"a","in":true,"since_us":1}],"closed":[],"swept":0,)"
      R"("strong":true})";
  CHECK(TableWith("set/3", set).sets.count(3) == 1);
  const auto with = [&set](std::string_view from, std::string_view to) {
    std::string changed = set;
    changed.replace(changed.find(from), from.size(), to);
    return changed;
  };
  CHECK_THAT(WhyDamaged("set/3", ""), Contains("not JSON"));
  CHECK_THAT(WhyDamaged("set/3", set.substr(1)), Contains("not JSON"));
  CHECK_THAT(WhyDamaged("set/3", "[]"), Contains("not a JSON object"));
  CHECK_THAT(WhyDamaged("set/3", "{}"), Contains("'members' is missing"));
  CHECK_THAT(WhyDamaged("set/3", with("\"in\":true", "\"in\":1")),
             Contains("'in' is not true or false"));
  CHECK_THAT(WhyDamaged("set/3", with("\"in\":true", "\"in\":false")),
             Contains("no member that is 'in'"));
  CHECK_THAT(WhyDamaged("set/3", with(":1}", ":-1}")), Contains("'since_us'"));
  CHECK_THAT(WhyDamaged("set/3", with(":1}", ":1.5}")), Contains("'since_us' is not a whole"));
  CHECK_THAT(WhyDamaged("set/3", with(":1}", ":18446744073709551615}")), Contains("'since_us'"));
  CHECK_THAT(WhyDamaged("set/3", with("[]", "[[1]]")), Contains("pairs [epoch, version]"));
  CHECK_THAT(WhyDamaged("set/3", with("[]", "[[1,-1]]")), Contains("'closed'"));
  CHECK_THAT(WhyDamaged("set/3", with("[]", "[[5,1],[5,2]]")), Contains("each epoch once"));
  CHECK_THAT(WhyDamaged("set/3", std::string(kSuspect) + set),
             Contains("may be out of date") && Contains("remove 'suspect '"));
  CHECK_THAT(WhyDamaged("set/3", with("[]", "{}")), Contains("'closed' is not an array"));
  CHECK_THAT(WhyDamaged("set/3", with("[]", "[],\"more\":1")), Contains("update this program"));
  CHECK_THAT(WhyDamaged("set/65536", set), Contains("'set/65536' takes no such value"));
  CHECK_THAT(WhyDamaged("set/3x", set), Contains("'set/3x' takes no such value"));

  CHECK_THAT(WhyDamaged("datalet/a", R"({"url":"x","node":"","capacity":4294967296,"since_us":0})"),
             Contains("'capacity' is not a whole number up to 4294967295"));
  CHECK_THAT(
      WhyDamaged("datalet/a", R"({"url":"x","node":"","capacity":1,"since_us":0,"leaving":1})"),
      Contains("'leaving' is not true or false"));
  CHECK_THAT(WhyDamaged("wanted-owner/3", R"({"node":""})"), Contains("use that of a node"));
  CHECK_THAT(WhyDamaged("wanted-owner/x", R"({"node":"a:1"})"), Contains("takes no such value"));
  std::string config = EncodeRecord(ClusterConfig{});
  config.replace(config.find("\"replicas\":3"), 12, "\"replicas\":0");
  CHECK_THAT(WhyDamaged("config", config), Contains("replicas must be at least 1"));
  CHECK_THAT(WhyDamaged("table/UP", EncodeRecord(ClusterConfig{})), Contains("'table/UP'"));
}

}  // namespace stout
