#include "stout/adapters/faulty_store.h"

#include <atomic>
#include <boost/asio/io_context.hpp>
#include <chrono>
#include <map>
#include <memory>
#include <optional>

#include "store_test_support.h"
#include "stout/adapters/memory_store.h"
#include "tests/support/catch.h"

namespace stout::test {
namespace {

using namespace std::chrono_literals;

// A faulty store over a prompt one, on a context that the test runs when it wants time to pass.
struct World {
  explicit World(FaultyOptions options = {})
      : store(std::make_unique<FaultyStore>(context.get_executor(),
                                            std::make_unique<MemoryStore>(context.get_executor()),
                                            WithShortDelays(std::move(options)))) {}

  static FaultyOptions WithShortDelays(FaultyOptions options) {
    options.delay_min = 1us;
    options.delay_max = 100us;
    return options;
  }

  // nullopt while the call is not answered.
  using Answer = std::shared_ptr<std::optional<WriteResult>>;
  Answer Write(const WriteBatch& batch) {
    auto answer = std::make_shared<std::optional<WriteResult>>();
    store->Write(batch, [answer](WriteResult result) { *answer = std::move(result); });
    return answer;
  }
  StoredState Underneath(const std::string& key) { return ReadOne(store->underneath(), key); }
  void LetTimePass() {
    context.restart();
    context.run();
  }

  boost::asio::io_context context;
  std::unique_ptr<FaultyStore> store;
};

TEST_CASE("kFail: a scan fails, and the next one does not", "[faulty]") {
  World world;
  world.store->ScriptRead(Fault::kFail);
  CHECK(ScanNow(*world.store, {}).errc == Errc::kTransient);
  CHECK(ScanNow(*world.store, {}).errc == Errc::kOk);
}

TEST_CASE("kLost: every call fails from then on, and the store underneath does not", "[faulty]") {
  World world;
  SECTION("by a write") { world.store->ScriptWrite(Fault::kLost); }
  SECTION("by a read") {
    world.store->ScriptRead(Fault::kLost);
    CHECK(ReadNow(*world.store, {"k"}).errc == Errc::kLost);
  }
  CHECK(*world.Write(Batch(1, {Put("k", "v", 1)})) == WriteResult{Errc::kLost, {}});
  CHECK(ReadNow(*world.store, {"k"}).errc == Errc::kLost);
  CHECK(ReadNow(world.store->underneath(), {"k"}) == ReadResult{Errc::kOk, {StoredState()}});
}

TEST_CASE("kDelay: the write happens, and is answered, later", "[faulty]") {
  World world;
  world.store->ScriptWrite(Fault::kDelay);
  const WriteBatch batch = Batch(1, {Put("k", "v", 1)});
  const auto answer = world.Write(batch);
  CHECK_FALSE(answer->has_value());
  CHECK_FALSE(world.Underneath("k").found);
  world.LetTimePass();
  CHECK(*answer == WriteResult{});
  CHECK(world.Underneath("k").found);
}

TEST_CASE("kFail: nothing is done, and the caller is told so", "[faulty]") {
  World world;
  world.store->ScriptWrite(Fault::kFail);
  CHECK(*world.Write(Batch(1, {Put("k", "v", 1)})) == WriteResult{Errc::kTransient, {}});
  CHECK_FALSE(world.Underneath("k").found);
  INFO("a scripted fault is met once");
  CHECK(*world.Write(Batch(1, {Put("k", "v", 1)})) == WriteResult{});
}

TEST_CASE("a lost answer never comes, and its handler goes with the store", "[faulty]") {
  const Fault fault = GENERATE(Fault::kLoseAnswer, Fault::kLoseRequest);
  World world;
  world.store->ScriptWrite(fault);
  const WriteBatch batch = Batch(1, {Put("k", "v", 1)});
  const auto answer = world.Write(batch);
  world.LetTimePass();
  CHECK_FALSE(answer->has_value());
  CHECK(answer.use_count() == 2);
  CHECK(world.Underneath("k").found == (fault == Fault::kLoseAnswer));
  world.store.reset();
  CHECK(answer.use_count() == 1);
  CHECK_FALSE(answer->has_value());
}

TEST_CASE("kUnknown: the write happens, and the caller cannot tell", "[faulty]") {
  World world;
  world.store->ScriptWrite(Fault::kUnknown);
  CHECK(*world.Write(Batch(1, {Put("k", "v", 1)})) == WriteResult{Errc::kUnknown, {}});
  CHECK(world.Underneath("k").found);
}

TEST_CASE("kApplyLate: a copy of the batch haunts the store", "[faulty]") {
  World world;
  world.store->ScriptWrite(Fault::kApplyLate);
  {
    const WriteBatch gone_soon = Batch(1, {Put("k", "ghost", 1), Put("l", "ghost", 2)});
    CHECK(*world.Write(gone_soon) == WriteResult{Errc::kUnknown, {}});
  }
  CHECK_FALSE(world.Underneath("k").found);
  CHECK(*world.Write(Batch(1, {Put("k", "retry", 3)})) == WriteResult{});
  world.LetTimePass();
  CHECK(world.Underneath("k") == Found("retry", {1, 3}));
  CHECK(world.Underneath("l") == Found("ghost", {1, 2}));
}

// Underneath, counts the writes of each key instead of doing them.
class CountingStore final : public Store {
 public:
  explicit CountingStore(std::map<std::string, int>& counts) : counts_(counts) {}
  const StoreTraits& traits() const override { return traits_; }
  void Write(const WriteBatch& batch, WriteHandler handler) override {
    for (const WriteItem& item : batch.items) ++counts_[item.key];
    handler({});
  }
  void Read(const ReadBatch&, ReadHandler handler) override { handler({}); }
  void NewEpoch(EpochHandler handler) override { handler({}, 1); }

 private:
  std::map<std::string, int>& counts_;
  const StoreTraits traits_;
};

TEST_CASE("kApplyTwice: the batch reaches the store a second time", "[faulty]") {
  boost::asio::io_context context;
  std::map<std::string, int> counts;
  FaultyStore store(context.get_executor(), std::make_unique<CountingStore>(counts));
  store.ScriptWrite(Fault::kApplyTwice);
  CHECK(WriteNow(store, Batch(1, {Put("a", "v", 1), Put("b", "v", 2)})) == WriteResult{});
  CHECK(counts == std::map<std::string, int>{{"a", 1}, {"b", 1}});
  context.run();
  CHECK(counts == std::map<std::string, int>{{"a", 2}, {"b", 2}});
}

TEST_CASE("kPartial: what failed is named, and only that is not done", "[faulty]") {
  const auto seed = GENERATE(range(std::uint64_t{1}, std::uint64_t{20}));
  CAPTURE(seed);
  World world({.seed = seed});
  world.store->ScriptWrite(Fault::kPartial);
  std::vector<WriteItem> items;
  for (Version v = 1; v <= 8; ++v) items.push_back(Put("key" + std::to_string(v), "v", v));
  const auto answer = world.Write(Batch(1, items));
  REQUIRE(answer->has_value());
  CHECK((*answer)->batch == Errc::kOk);
  REQUIRE_FALSE((*answer)->items.empty());
  std::map<std::size_t, Errc> failed;
  for (const ItemError& error : (*answer)->items) failed[error.index] = error.errc;
  for (std::size_t i = 0; i < items.size(); ++i) {
    CAPTURE(i);
    CHECK(world.Underneath(items[i].key).found == !failed.contains(i));
    if (failed.contains(i)) CHECK(failed[i] == Errc::kTransient);
  }
}

TEST_CASE("chosen keys are refused, beside what the store itself says", "[faulty]") {
  World world({.refuse = [](KeyView key) { return key.starts_with("poison"); }});
  CHECK(*world.Write(Batch(2, {Put("taken", "v", 1)})) == WriteResult{});
  const auto answer = world.Write(Batch(
      1, {Put("poison1", "v", 2), Put("a", "v", 3), Put("taken", "v", 4), Put("poison2", "v", 5)}));
  CHECK(*answer ==
        WriteResult{Errc::kOk, {{0, Errc::kRefused}, {2, Errc::kFenced}, {3, Errc::kRefused}}});
  CHECK(world.Underneath("a").found);
  CHECK_FALSE(world.Underneath("poison1").found);
}

TEST_CASE("reads and epochs fail by script, too", "[faulty]") {
  World world;
  for (int i = 0; i < 2; ++i) world.store->ScriptRead(Fault::kFail);
  CHECK(ReadNow(*world.store, {"k"}).errc == Errc::kTransient);
  CHECK(NewEpochNow(*world.store) == 0);
  CHECK(NewEpochNow(*world.store) == 1);

  ReadBatch batch;
  batch.keys = {"k"};
  int answers = 0;
  const auto count = [&answers](ReadResult) { ++answers; };
  for (const Fault fault : {Fault::kLoseAnswer, Fault::kLoseRequest, Fault::kDelay}) {
    world.store->ScriptRead(fault);
    world.store->Read(batch, count);
  }
  CHECK(answers == 0);
  world.LetTimePass();
  CHECK(answers == 1);
}

TEST_CASE("the same seed meets the same faults, near their rates", "[faulty]") {
  const auto outcomes = [](std::uint64_t seed) {
    World world({.writes = {.fail = 0.3, .unknown = 0.2}, .seed = seed});
    std::string trace;
    for (Version v = 1; v <= 1000; ++v) {
      const auto answer = world.Write(Batch(1, {Put("k", "v", v)}));
      trace += (*answer)->batch == Errc::kOk ? '.' : (*answer)->batch == Errc::kUnknown ? '?' : 'x';
    }
    return trace;
  };
  const std::string trace = outcomes(7);
  CHECK(trace == outcomes(7));
  CHECK(trace != outcomes(8));
  CHECK(std::count(trace.begin(), trace.end(), 'x') == Approx(300).margin(60));
  CHECK(std::count(trace.begin(), trace.end(), '?') == Approx(200).margin(60));
}

TEST_CASE("a faulty store that is destroyed does at once what is due later", "[faulty]") {
  boost::asio::io_context context;
  std::map<std::string, int> counts;
  const WriteBatch batch = Batch(1, {Put("k", "v", 1)});
  int answers = 0;
  {
    FaultyStore store(context.get_executor(), std::make_unique<CountingStore>(counts),
                      {.delay_min = 1h, .delay_max = 2h});
    for (const Fault fault : {Fault::kDelay, Fault::kApplyLate, Fault::kApplyTwice}) {
      store.ScriptWrite(fault);
      store.Write(batch, [&answers](WriteResult) { ++answers; });
    }
    CHECK(answers == 2);
  }
  CHECK(answers == 3);
  CHECK(counts["k"] == 4);
}

}  // namespace
}  // namespace stout::test
