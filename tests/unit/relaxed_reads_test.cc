#include "stout/core/relaxed_reads.h"

#include <map>
#include <optional>
#include <string>

#include "tests/support/catch.h"

namespace stout {
namespace {

using internal::CausalToken;
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
    return RelaxedReads::MarkOf({.found = true, .value = mark, .stamp = {}});
  };
  const Mark mark{.epoch = 4, .version = 9, .time = TimePoint(3s)};
  CHECK(of(EncodeMark(mark)) == mark);
  CHECK(of("4:9").time == TimePoint());
  CHECK(of("x") == Mark());
  CHECK(RelaxedReads::MarkOf({}) == Mark());
  CHECK(RelaxedReads::MarkOf({.found = true, .value = EncodeMark(mark), .errc = Errc::kCorrupt}) ==
        Mark());
}

TEST_CASE("a session sees what a state may depend on", "[relaxed]") {
  const Mark mark{.epoch = 4, .version = 9, .time = TimePoint(3s)};
  const TimePoint now(5s);
  const auto after = [&](Stamp stamp) {
    CausalToken token;
    token.OnMember(stamp, mark, now);
    return token.seen();
  };
  CHECK(after({}) == TimePoint(3s));  // the key does not exist
  CHECK(after({4, 9}) == TimePoint(3s));
  CHECK(after({3, 70}) == TimePoint(3s));  // of a former owner
  CHECK(after({4, 10}) == now);
  CHECK(after({5, 1}) == now);

  CausalToken token;
  token.OnMember({4, 9}, mark, now);
  CHECK(token.Accepts(mark, 3));
  CHECK(token.Accepts(mark, 7));
  CHECK_FALSE(token.Accepts(mark, 2));  // members may differ in states of epoch 3
  CHECK_FALSE(token.Accepts({.epoch = 9, .version = 9, .time = TimePoint(2s)}, 9));
  CHECK_FALSE(token.Accepts({}, 9));
  token.Add(now);
  CHECK_FALSE(token.Accepts(mark, 3));
  token.OnMember({4, 9}, mark, TimePoint(6s));  // in the same batch as a newer state
  CHECK(token.seen() == now);
  token.Add(TimePoint(4s));
  CHECK(token.seen() == now);

  const Mark of_all{.time = TimePoint::max()};  // a store that all nodes share
  CHECK(token.Accepts(of_all, 0));
  token.OnMember({9, 9}, of_all, TimePoint(7s));
  CHECK(token.seen() == TimePoint(7s));
}

}  // namespace
}  // namespace stout
