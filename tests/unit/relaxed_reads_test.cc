#include "stout/core/relaxed_reads.h"

#include <map>
#include <optional>
#include <string>

#include "tests/support/catch.h"

namespace stout {
namespace {

using internal::RelaxedReads;
using namespace std::chrono_literals;

constexpr RangeId kRange = 3;

// "a", "b" and "c" are in, "d" is not.
struct Reader {
  Reader() {
    for (const char* name : {"a", "b", "c"})
      record.members.push_back({.datalet = name, .in = true});
    record.members.push_back({.datalet = "d"});
  }

  // Returns the datalet, or "" for the owner.
  std::string Choose(const std::string& local = "") {
    chosen = reads.Choose(kRange, record, local,
                          [this](const std::string& datalet) { return queues.at(datalet); });
    return chosen == nullptr ? "" : chosen->datalet;
  }
  bool Accept(const StoredState& identity, const std::string& incarnation = "") {
    return reads.Accept(kRange, *chosen, incarnation, identity);
  }
  std::string Read(const std::string& local = "") {
    const std::string datalet = Choose(local);
    if (chosen != nullptr) CHECK(Accept({.found = true, .value = chosen->Identity()}));
    return datalet;
  }

  RelaxedReads reads{7};
  RangeRecord record;
  std::map<std::string, std::optional<std::size_t>> queues = {
      {"a", 2}, {"b", 1}, {"c", 2}, {"d", 0}};
  const RangeRecord::Member* chosen = nullptr;
};

TEST_CASE("a relaxed read goes to the local member, or joins the shortest queue", "[relaxed]") {
  CHECK(Reader().Choose("c") == "c");
  CHECK(Reader().Choose("d") == "b");
  CHECK(Reader().Choose() == "b");
  Reader reader;
  reader.queues["b"] = 2;
  std::map<std::string, int> ties;
  for (int i = 0; i < 300; ++i) ++ties[reader.Choose()];
  CHECK(ties.size() == 3);
  for (const auto& [datalet, times] : ties) CHECK(times > 50);
  for (auto& [datalet, queue] : reader.queues) queue.reset();
  CHECK(reader.Choose().empty());
}

TEST_CASE("a session keeps its member while that is in", "[relaxed]") {
  Reader reader;
  CHECK(reader.Read() == "b");
  reader.queues["b"] = 100;
  CHECK(reader.Read("a") == "b");
  reader.queues["b"].reset();
  CHECK(reader.Read("a").empty());  // the owner
  reader.record.members[1].in = false;
  CHECK(reader.Read("a") == "a");
  reader.record.members[1].in = true;
  CHECK(reader.Read("b") == "a");
  reader.reads.Forget();
  reader.queues["b"] = 0;
  CHECK(reader.Read("b") == "b");
}

TEST_CASE("a member must show that it has what it had", "[relaxed]") {
  Reader reader;
  reader.record.members[0].entered = {5, 2};
  reader.record.members[0].incarnation = "1";
  CHECK(reader.Choose("a") == "a");
  CHECK_FALSE(reader.Accept({}, "1"));
  CHECK_FALSE(reader.Accept({.found = true, .value = "a", .stamp = {}}, "1"));
  CHECK_FALSE(reader.Accept({.found = true, .value = "a/5:2", .stamp = {}}, "2"));
  CHECK_FALSE(reader.Accept({.found = true, .value = "a/5:2", .errc = Errc::kCorrupt}, "1"));
  CHECK(reader.Choose("c") == "c");  // none was accepted
  CHECK(reader.Choose("a") == "a");
  CHECK(reader.Accept({.found = true, .value = "a/6:1", .stamp = {}}, "1"));
  CHECK(reader.Choose("c") == "a");
}

TEST_CASE("a mark shows up to which time a member has all changes", "[relaxed]") {
  const auto of = [](const std::string& mark) {
    return RelaxedReads::CompleteUntil({.found = true, .value = mark, .stamp = {}});
  };
  CHECK(of(EncodeMark({.epoch = 4, .version = 9, .time = TimePoint(3s)})) == TimePoint(3s));
  CHECK(of("4:9") == TimePoint());
  CHECK(of("x") == TimePoint());
  CHECK(RelaxedReads::CompleteUntil({}) == TimePoint());
}

}  // namespace
}  // namespace stout
