// Measures the cost of the library per operation, beside a hash map doing the same number of
// upserts.

#include <benchmark/benchmark.h>

#include <array>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/unordered/unordered_flat_map.hpp>

#include "stout/core/engine.h"
#include "stout/interposer.h"
#include "stout/store.h"
#include "stout/write_back_map.h"
#include "workload.h"

namespace stout::bench {
using namespace stout::internal;
namespace {

/// The application: every key has the same state, copied as a real one would be.
class Source final : public StateSource {
 public:
  Serialized Serialize(KeyView, std::string& value) noexcept override {
    value = Value();
    return Serialized::kValue;
  }
};

class Cursor {
 public:
  explicit Cursor(std::size_t keys) : keys_(Keys(keys)), order_(Order(keys)) {}
  const std::string& Next() {
    if (++position_ == order_.size()) position_ = 0;
    return keys_[place()];
  }
  /// Returns the place of the key that Next() returned last.
  [[nodiscard]] std::uint32_t place() const { return order_[position_]; }

 private:
  const std::vector<std::string>& keys_;
  const std::vector<std::uint32_t>& order_;
  std::size_t position_ = 0;
};

void Report(benchmark::State& state, std::uint64_t allocations_before) {
  const auto operations = static_cast<double>(state.iterations() * state.range(1));
  state.SetItemsProcessed(state.iterations() * state.range(1));
  state.counters["allocs_per_op"] =
      static_cast<double>(Allocations() - allocations_before) / operations;
}

void BM_MapUpsert(benchmark::State& state) {
  static boost::unordered_flat_map<std::size_t, boost::unordered_flat_map<std::string, std::string>>
      maps;  // kept between repetitions: filling ten million keys takes a while
  const auto keys = static_cast<std::size_t>(state.range(0));
  auto& map = maps[keys];
  if (map.empty()) {
    map.reserve(keys);
    for (const std::string& key : Keys(keys)) map.insert_or_assign(key, Value());
  }
  Cursor cursor(keys);
  const std::uint64_t allocations = Allocations();
  for (auto _ : state) {
    for (std::int64_t i = 0; i < state.range(1); ++i) map.insert_or_assign(cursor.Next(), Value());
  }
  Report(state, allocations);
}

/// MarkDirty, SafeReply, forming the batch, its completion, and the replies: all of the core.
void BM_Engine(benchmark::State& state) {
  Cursor cursor(static_cast<std::size_t>(state.range(0)));
  Engine engine({}, 1, 1);
  Source source;
  Effects effects;
  TimePoint now{};
  std::uint64_t replies = 0;
  const auto round = [&](std::int64_t operations) {
    for (std::int64_t i = 0; i < operations; ++i) {
      const KeyRef key{.lane = 0, .key = cursor.Next()};
      now += std::chrono::nanoseconds(100);
      engine.MarkDirty(key, Value().size(), now);
      engine.SafeReply({&key, 1}, static_cast<ReplyId>(i), now);
    }
    engine.Poll(now, source);
    engine.TakeEffects(effects);
    for (WriteBatch& batch : effects.writes) {
      engine.WriteDone(batch.lane, batch.id, {}, now);
      engine.Recycle(std::move(batch));
    }
    engine.TakeEffects(effects);
    replies += effects.replies.size();
  };
  for (int i = 0; i < 64; ++i) round(state.range(1));  // buffers grow to their size
  replies = 0;
  const std::uint64_t allocations = Allocations();
  for (auto _ : state) round(state.range(1));
  Report(state, allocations);
  if (replies != static_cast<std::uint64_t>(state.iterations() * state.range(1))) {
    state.SkipWithError("a reply did not run");
  }
}

/// A store that answers at once and keeps nothing: what remains is the interposer.
class NullStore final : public Store {
 public:
  [[nodiscard]] const StoreTraits& traits() const override { return traits_; }
  void Write(const WriteBatch&, WriteHandler handler) override { handler({}); }
  void Read(const ReadBatch& batch, ReadHandler handler) override {
    handler({.errc = Errc::kOk, .states = std::vector<StoredState>(batch.keys.size())});
  }
  void NewEpoch(EpochHandler handler) override { handler({}, 1); }

 private:
  StoreTraits traits_{.name = "null", .compares_stamps = true};
};

/// The same through the Asio shell: strand, clock readings, posted turns, handlers.
void BM_Interposer(benchmark::State& state) {
  Cursor cursor(static_cast<std::size_t>(state.range(0)));
  boost::asio::io_context context(1);
  NullStore store;
  Interposer interposer(context.get_executor(), store,
                        {.serialize =
                             [](KeyView, std::string& value) {
                               value = Value();
                               return Serialized::kValue;
                             },
                         .on_refused = {},
                         .on_fenced = {}});
  interposer.OpenWithEpoch(1);
  std::uint64_t replies = 0;
  const auto round = [&](std::int64_t operations) {
    boost::asio::post(interposer.get_executor(), [&, operations] {
      for (std::int64_t i = 0; i < operations; ++i) {
        const std::string& key = cursor.Next();
        benchmark::DoNotOptimize(interposer.MarkDirty(key, Value().size()));
        interposer.SafeReply(key, [&replies](ErrorCode) { ++replies; });
      }
    });
    context.restart();
    context.run();
  };
  for (int i = 0; i < 64; ++i) round(state.range(1));
  replies = 0;
  const std::uint64_t allocations = Allocations();
  for (auto _ : state) round(state.range(1));
  Report(state, allocations);
  if (replies != static_cast<std::uint64_t>(state.iterations() * state.range(1))) {
    state.SkipWithError("a reply did not run");
  }
}

/// A look-up of a key in the memory of a map. Each key belongs to one of some tenants. All keys
/// have room. If they take more than half of it (`crowded`), the map learns how the tenants use it.
void BM_MapPeek(benchmark::State& state) {
  const auto keys = static_cast<std::size_t>(state.range(0));
  const auto tenants = static_cast<TenantId>(state.range(2));
  const std::size_t room = state.range(3) == 0 ? std::size_t{1} << 30 : keys * 900;
  Cursor cursor(keys);
  boost::asio::io_context context(1);
  NullStore store;
  WriteBackMap map(context.get_executor(), store, {.cache_bytes = room});
  map.interposer().OpenWithEpoch(1);
  const auto run = [&](auto call) {
    boost::asio::post(map.get_executor(), call);
    context.restart();
    context.run();
  };
  for (const std::string& key : Keys(keys)) {
    run([&] {
      if (!map.Put(key, Value())) state.SkipWithError("a change is refused");
    });
  }
  const bool crowded = map.cached_bytes() > room / 2;
  if (crowded != (state.range(3) == 1)) state.SkipWithError("the room is not as it should be");
  std::uint64_t found = 0;
  const std::uint64_t allocations = Allocations();
  for (auto _ : state) {
    run([&] {
      for (std::int64_t i = 0; i < state.range(1); ++i) {
        const std::string& key = cursor.Next();
        const FetchOptions options{.tenant = cursor.place() % tenants};
        found += map.Peek(key, options) ? 1 : 0;
      }
    });
  }
  Report(state, allocations);
  if (found != static_cast<std::uint64_t>(state.iterations() * state.range(1))) {
    state.SkipWithError("a key is missing");
  }
}

void Sizes(benchmark::internal::Benchmark* benchmark) {
  benchmark->ArgNames({"keys", "batch"});
  for (const std::int64_t keys : {1'000, 100'000, 10'000'000}) {
    for (const std::int64_t batch : {1, 64, 1024}) benchmark->Args({keys, batch});
  }
}

BENCHMARK(BM_MapUpsert)->Apply(Sizes);
BENCHMARK(BM_Engine)->Apply(Sizes);
BENCHMARK(BM_Interposer)->Apply(Sizes);
BENCHMARK(BM_MapPeek)
    ->ArgNames({"keys", "batch", "tenants", "crowded"})
    ->ArgsProduct({{1'000, 100'000}, {1024}, {1, 4}, {0, 1}});

}  // namespace
}  // namespace stout::bench
