// The parts of the shard server's benchmarks: truth, queries, clocks and accounts.

#include <algorithm>
#include <boost/json.hpp>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <numeric>
#include <set>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "shard/comparison.h"
#include "shard/kinds.h"
#include "shard/lineitem.h"
#include "shard/number_key.h"
#include "shard/oracle.h"
#include "shard/queries.h"
#include "shard/report.h"
#include "shard/space.h"
#include "shard/timing.h"
#include "tests/blowfish/bench_support.h"
#include "tests/support/catch.h"
#include "tests/support/temp_directory.h"

namespace stout::bench::shard {
namespace {

constexpr SearchBounds kUnbounded{.searches = 1'000,
                                  .hits = std::numeric_limits<std::uint64_t>::max()};

TEST_CASE("keys are ordered as their numbers are", "[shard-bench]") {
  SplitMix64 random(1);
  for (int round = 0; round < 1000; ++round) {
    const std::uint64_t a = random.Next() >> random.Below(64);
    const std::uint64_t b = random.Next() >> random.Below(64);
    CHECK(ToNumber(View(ToKey(a))) == a);
    CHECK((View(ToKey(a)) < View(ToKey(b))) == (a < b));
  }
  CHECK_FALSE(ToNumber("1234567"));
  CHECK_FALSE(ToNumber("123456789"));
}

// Goal: the oracle is right. Method: its indexes against a scan over all records for each question.
TEST_CASE("the oracle finds what a scan finds", "[shard-bench]") {
  const auto seed = static_cast<std::uint64_t>(GENERATE(range(1, 20)));
  CAPTURE(seed);
  VectorSource source = OddRecords(seed);
  const Oracle oracle(source);
  const auto& records = source.records();
  REQUIRE(oracle.size() == records.size());

  std::uint64_t bytes = 0;
  for (RecordNumber i = 0; i < oracle.size(); ++i) {
    bytes += records[i].value.size();
    CHECK(oracle.value(i) == records[i].value);
    CHECK(oracle.key(i) == View(records[i].key));
    CHECK(oracle.Find(View(records[i].key)) == i);
  }
  CHECK(oracle.raw_bytes() == bytes);
  CHECK_FALSE(oracle.Find("none"));

  for (std::size_t attribute = 0; attribute < source.schema().size(); ++attribute) {
    std::map<std::string, std::vector<RecordNumber>> wanted;
    for (RecordNumber i = 0; i < oracle.size(); ++i) {
      const auto text = source.schema().Attribute(records[i].value, attribute);
      if (text) wanted[std::string(*text)].push_back(i);
    }
    const auto distinct = oracle.Distinct(attribute);
    CHECK(std::set<std::string_view>(distinct.begin(), distinct.end()).size() == distinct.size());
    CHECK(distinct.size() == wanted.size());
    for (const auto& [text, numbers] : wanted) {
      const auto found = oracle.Search(attribute, text);
      CHECK(std::vector<RecordNumber>(found.begin(), found.end()) == numbers);
    }
    CHECK(oracle.Search(attribute, "c").empty());
  }
}

TEST_CASE("the oracle can keep only the keys and the last value", "[shard-bench]") {
  VectorSource source({}, {{ToKey(1), "a"}, {ToKey(2), "bc"}, {ToKey(3), "de"}});
  const Oracle all(source);
  const Oracle keys(source, Oracle::Keep::kKeys);
  CHECK(all.last_value() == "de");
  CHECK(keys.last_value() == "de");
  REQUIRE(keys.size() == 3);
  for (RecordNumber i = 0; i < keys.size(); ++i) CHECK(keys.key(i) == all.key(i));
}

TEST_CASE("the oracle takes no key twice", "[shard-bench]") {
  VectorSource source({}, {{ToKey(1), "a"}, {ToKey(1), "b"}});
  CHECK_THROWS_WITH(Oracle(source), "two records of the benchmark have the same key");
}

TEST_CASE("each rank has a place of its own", "[shard-bench]") {
  const auto size = static_cast<std::uint32_t>(GENERATE(range(1, 200)));
  CAPTURE(size);
  const Choice choice(size, {.theta = 0.99});
  std::set<std::uint32_t> places;
  for (std::uint32_t rank = 0; rank < size; ++rank) places.insert(choice.PlaceOf(rank));
  CHECK(places.size() == size);
  CHECK(*places.rbegin() == size - 1);
}

// The paper's skew over shards, "0.01", puts 20 times the load of the lightest of 20 on the
// heaviest.
TEST_CASE("things are chosen by Zipf's law, or alike", "[shard-bench]") {
  constexpr std::uint32_t kShards = 20;
  constexpr int kDraws = 200'000;
  const double theta = GENERATE(0.0, 0.01, 0.99);
  CAPTURE(theta);
  const Choice choice(kShards, {.theta = theta});
  SplitMix64 random(1);
  std::vector<int> drawn(kShards);
  for (int i = 0; i < kDraws; ++i) ++drawn.at(choice.Draw(random));
  double norm = 0;
  for (std::uint32_t k = 1; k <= kShards; ++k) norm += std::pow(k, -theta);
  for (std::uint32_t rank = 0; rank < kShards; ++rank) {
    const double expected = kDraws * std::pow(rank + 1, -theta) / norm;
    CAPTURE(rank);
    CHECK(std::abs(drawn[choice.PlaceOf(rank)] - expected) <= 5 * std::sqrt(expected));
  }
}

const SearchClass& FindClass(const std::vector<SearchClass>& classes, std::string_view name) {
  return *std::find_if(classes.begin(), classes.end(),
                       [&](const SearchClass& of) { return of.name == name; });
}

TEST_CASE("there is a class for each attribute, and mix8", "[shard-bench]") {
  const std::vector<SearchClass> classes = SearchClasses(Lineitem::GetSchema());
  REQUIRE(classes.size() == 16);
  CHECK(classes[3].name == "quantity");
  CHECK(classes[3].attributes == std::vector<std::size_t>{3});
  CHECK(classes.back().name == "mix8");
  CHECK(classes.back().attributes == std::vector<std::size_t>{0, 1, 2, 4, 9, 10, 11, 14});
  CHECK(SearchClasses({}).size() == 1);
}

TEST_CASE("values searched for are drawn from the distinct ones", "[shard-bench]") {
  // One value of 99 records, and one of a single record.
  std::vector<VectorSource::Made> made;
  made.reserve(100);
  for (std::uint64_t i = 0; i < 100; ++i) made.push_back({ToKey(i), i == 50 ? "rare" : "frequent"});
  VectorSource source({}, made);
  const Oracle oracle(source);
  const std::vector<Search> searches = DrawSearches(oracle, {"value", {0}}, {}, kUnbounded, 1);
  REQUIRE(searches.size() == 1'000);
  const auto rare = std::count(searches.begin(), searches.end(), Search{0, "rare"});
  CHECK(rare > 400);
  CHECK(rare < 600);
  CHECK(Hits(oracle, searches) == static_cast<std::uint64_t>(rare + 99 * (1'000 - rare)));
}

/// A mebibyte of lineitems, and what is true of them.
struct Lineitems {
  Lineitem source{{.bytes = std::uint64_t{1} << 20}};
  Oracle oracle{source};
  std::vector<SearchClass> classes = SearchClasses(source.schema());
};

TEST_CASE("batches are the same for the same seed, and end where they are told to",
          "[shard-bench]") {
  Lineitems data;
  const SearchClass& mix = FindClass(data.classes, "mix8");
  const load::Distribution skew{.theta = 0.99};
  const auto searches = DrawSearches(data.oracle, mix, {}, kUnbounded, 7);
  CHECK(searches == DrawSearches(data.oracle, mix, {}, kUnbounded, 7));
  CHECK(searches != DrawSearches(data.oracle, mix, {}, kUnbounded, 8));
  CHECK(DrawGets(data.oracle, skew, 100, 7) == DrawGets(data.oracle, skew, 100, 7));
  std::map<std::size_t, int> attributes;
  for (const Search& search : searches) {
    CHECK_FALSE(data.oracle.Search(search.attribute, search.value).empty());
    ++attributes[search.attribute];
  }
  CHECK(attributes.size() == 8);
  for (const auto& [attribute, count] : attributes) CHECK(count == Approx(125).margin(55));

  // A flag is that of thousands of records: the last search goes over the bound.
  const SearchClass& flags = FindClass(data.classes, "returnflag");
  const auto few = DrawSearches(data.oracle, flags, {}, {.searches = 1'000, .hits = 10'000}, 1);
  CHECK(Hits(data.oracle, few) >= 10'000);
  CHECK(Hits(data.oracle, {few.begin(), few.end() - 1}) < 10'000);
}

TEST_CASE("substrings are drawn from values, and few have one", "[shard-bench]") {
  VectorSource source = OddRecords(1);
  const Oracle oracle(source);
  const SubstringBounds bounds{.searches = 20, .bytes = 3, .most_hits = 10};
  const std::vector<Substring> substrings = DrawSubstrings(oracle, bounds, 1);
  REQUIRE(substrings.size() == 20);
  for (const Substring& substring : substrings) {
    CHECK(substring.text.size() == 3);
    std::uint64_t hits = 0;
    for (RecordNumber record = 0; record < oracle.size(); ++record) {
      hits += oracle.value(record).find(substring.text) != std::string_view::npos;
    }
    CHECK(substring.hits == hits);
    CHECK((1 <= hits && hits <= 10));
  }
  CHECK(DrawSubstrings(oracle, {.searches = 20, .bytes = 100}, 1).empty());
}

TEST_CASE("half of the mix is gets", "[shard-bench]") {
  Lineitems data;
  const auto operations =
      DrawMix(data.oracle, FindClass(data.classes, "orderkey"), {}, kUnbounded, 1);
  const auto gets = std::count_if(operations.begin(), operations.end(), [](const Operation& each) {
    return std::holds_alternative<Get>(each);
  });
  CHECK(operations.size() - static_cast<std::size_t>(gets) == 1'000);
  CHECK(gets == Approx(1'000).margin(160));
}

TEST_CASE("gets are for all records alike, or for few", "[shard-bench]") {
  Lineitems data;
  const auto distinct = [&](const load::Distribution& distribution) {
    std::set<RecordNumber> records;
    for (const Get get : DrawGets(data.oracle, distribution, 10'000, 1)) records.insert(get.record);
    CHECK(*records.rbegin() < data.oracle.size());
    return records.size();
  };
  const std::size_t uniform = distinct({});
  const double records = data.oracle.size();
  CHECK(static_cast<double>(uniform) ==
        Approx(records * (1 - std::exp(-10'000 / records))).epsilon(0.03));
  CHECK(distinct({.theta = 0.99}) < uniform * 2 / 3);
}

TEST_CASE("contenders take turns", "[shard-bench]") {
  std::string calls;
  const auto contender = [&](char name) {
    return [&calls, name](std::size_t i) { (calls += name) += static_cast<char>('0' + i); };
  };
  const std::vector<Timing> timings =
      MeasureInTurns({contender('a'), contender('b')}, {.calls = 2, .operations_per_call = 8}, 3);
  CHECK(calls ==
        "a0a1b0b1"
        "a0a1b0b1a0a1b0b1a0a1b0b1"
        "a0a1b0b1");
  for (const Timing& timing : timings) {
    CHECK(timing.operations == 16);
    CHECK(timing.cpu_s.size() == 3);
    CHECK(timing.wall_s.size() == 3);
    CHECK(timing.call_latency.count() == 2);
  }
}

TEST_CASE("a slow peer runs a part of the batch each time, and goes on with the next",
          "[shard-bench]") {
  std::vector<std::size_t> calls;
  const Timing timing = MeasureInTurns({[&](std::size_t i) { calls.push_back(i); }},
                                       {.calls = 3, .operations_per_call = 2, .longest_s = 0}, 3)
                            .front();
  CHECK(calls == std::vector<std::size_t>{0, 1, 2, 0, 1});  // to find the length, 3, and latencies
  CHECK(timing.operations == 2);
  CHECK(timing.call_latency.count() == 1);
}

TEST_CASE("throughput is that of the best batch, and of the one in the middle", "[shard-bench]") {
  Timing timing;
  timing.operations = 60;
  timing.cpu_s = {3, 1, 2};
  timing.wall_s = {6, 5, 4, 10};
  CHECK(timing.BestPerCpuSecond() == 60);
  CHECK(timing.MedianPerCpuSecond() == 30);
  CHECK(timing.BestPerSecond() == 15);
  CHECK(timing.MedianPerSecond() == 10);
}

TEST_CASE("the thread's clock goes on while it works", "[shard-bench]") {
  const double start = ThreadCpuSeconds();
  SplitMix64 random(1);
  std::uint64_t sum = 0;
  while (ThreadCpuSeconds() < start + 0.01) sum += random.Next();
  CHECK(sum != 0);
}

TEST_CASE("an account adds up", "[shard-bench]") {
  Space postings;
  postings.Add("lists", 30);
  postings.Add("values", 12);
  Space space;
  space.Add("blocks", 8);
  space.Add("postings", postings);
  CHECK(space.Total() == 50);
  CHECK(space.Ratio(200) == 0.25);
  CHECK(space.Ratio(0) == 0);
  REQUIRE(space.parts().size() == 3);
  CHECK(space.parts()[1].name == "postings, lists");
  CHECK(space.parts()[2].bytes == 12);
}

TEST_CASE("allocated memory counts in the process's memory", "[shard-bench]") {
  constexpr std::uint64_t kBytes = std::uint64_t{32} << 20;
  const ProcessMemory before = MeasureMemory();
  CHECK(before.pss_bytes <= before.rss_bytes);
  const std::vector<char> touched(kBytes, 'x');
  const ProcessMemory after = MeasureMemory();
  CHECK(touched.back() == 'x');
  CHECK(after.rss_bytes > before.rss_bytes + kBytes * 9 / 10);
  // Pages that other processes also map count in part, and these come and go.
  CHECK(after.pss_bytes > kBytes * 9 / 10);
}

TEST_CASE("a comparison reports what was measured and which peers were left out", "[shard-bench]") {
  CompareOptions options;
  options.data.bytes = 100'000;
  options.peers = {"hash", "redis"};
  options.gets = 100;
  options.searches = {.searches = 10, .hits = 1'000};
  std::vector<std::string> steps;
  const Comparison comparison =
      Compare(options, [&](const std::string& step) { steps.push_back(step); });
  CHECK(steps.front() == "making the data");
  CHECK(comparison.raw_bytes >= options.data.bytes);
  REQUIRE(comparison.peers.size() == 1);
  CHECK(comparison.peers[0].space.Total() > comparison.raw_bytes);
  std::vector<std::string> names;
  for (const Workload& workload : comparison.workloads) {
    names.push_back(workload.name);
    REQUIRE(workload.entries.size() == 1);
    CHECK(workload.entries[0].timing.BestPerCpuSecond() > 0);
  }
  CHECK(names == std::vector<std::string>{"get", "get x16", "search mix8", "search orderkey",
                                          "search suppkey", "search quantity", "count mix8",
                                          "50/50 mix8"});

  const boost::json::value json = boost::json::parse(ToJson(options, comparison));
  const auto first_name = [&](const char* list) -> std::string_view {
    return json.at(list).as_array().at(0).at("name").as_string();
  };
  CHECK(json.at("format").as_string() == "stout shard-bench 1");
  CHECK(json.at("options").at("distribution").as_string() == "uniform");
  CHECK(first_name("peers") == "hash");
  CHECK(first_name("left_out") == "redis");
  CHECK(first_name("workloads") == "get");
  const std::string text = ToText(comparison);
  CHECK(text.find("left out: redis, ") != std::string::npos);
  CHECK(text.find("search quantity") != std::string::npos);
}

TEST_CASE("values of a kind are the same each time, and have no attributes to search",
          "[shard-bench]") {
  const test::TempDirectory scratch;
  CompareOptions options;
  options.data.bytes = 200'000;
  options.kind = GENERATE(from_range(MadeValues::Kinds()));
  options.peers = {"blowfish", "text"};
  options.peer_options.scratch = scratch.path();
  options.gets = 100;
  options.substrings.searches = 3;
  CAPTURE(options.kind);
  const Oracle values = [&] {
    MadeValues source(options.kind, options.data);
    return Oracle(source);
  }();
  MadeValues again(options.kind, options.data);
  for (const bool rewound : {false, true}) {
    CAPTURE(rewound);
    for (RecordNumber record = 0; record < values.size(); ++record) {
      REQUIRE(again.Next().value().value == values.value(record));
    }
    CHECK_FALSE(again.Next());
    again.Rewind();
  }
  const Comparison comparison = Compare(options, [](const std::string&) {});
  CHECK(comparison.raw_bytes == values.raw_bytes());
  REQUIRE(comparison.workloads.size() == 3);
  CHECK(comparison.workloads[2].name == "grep");
  CHECK(comparison.workloads[2].entries.size() == 2);
}

TEST_CASE("a class of searches that there is not is said so", "[shard-bench]") {
  CompareOptions options;
  options.data.bytes = 10'000;
  options.peers = {"hash"};
  options.classes = {"colour"};
  CHECK_THROWS_WITH(Compare(options, [](const std::string&) {}), "no class of searches is colour");
}

}  // namespace
}  // namespace stout::bench::shard
