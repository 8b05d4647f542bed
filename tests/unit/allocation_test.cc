// Goal: once its buffers have grown, an engine serves changes, replies and batches without
// allocating. Method: count operator new around rounds of the same work.
#include <array>
#include <string>
#include <vector>

#include "stout/core/engine.h"
#include "stout/core/policy/stout.h"
#include "tests/support/allocations.h"
#include "tests/support/catch.h"
#include "tests/unit/engine_driver.h"

namespace stout {
using namespace internal;
namespace {

/// A server of 1000 keys whose names and values are too long to be kept inline.
class Server final : public StateSource {
 public:
  explicit Server(const EngineOptions& options) : engine_(options, 2, 1) {
    for (int i = 0; i < 1000; ++i) {
      keys_.push_back("documents/section/of/some/length/" + std::to_string(i));
    }
  }

  Serialized Serialize(KeyView key, std::string& value) noexcept override {
    value.assign(key);
    value.append(100, 'x');
    return Serialized::kValue;
  }

  /// Each round changes 300 keys, with a reply over two keys each, and answers all batches.
  void Run(int rounds) {
    for (int round = 0; round < rounds; ++round) {
      for (int i = 0; i < 300; ++i) {
        const std::string& key = keys_[next_];
        next_ = (next_ + 7) % keys_.size();
        const auto lane = static_cast<LaneId>(i % 2);
        const std::array<KeyRef, 2> refs{{{lane, key}, {lane, keys_[next_]}}};
        engine_.MarkDirty(refs[0], 150, now_);
        engine_.SafeReply(refs, ++asked_, now_);
        if (i % 100 == 99) Turn();
      }
      while (ran_ < asked_) Turn();
    }
  }

  [[nodiscard]] bool Quiet() const { return ran_ == asked_; }

 private:
  void Turn() {
    now_ += std::chrono::milliseconds(1);
    engine_.Poll(now_, *this);
    engine_.TakeEffects(effects_);
    for (WriteBatch& batch : effects_.writes) {
      engine_.WriteDone(batch.lane, batch.id, done_, now_);
      engine_.Recycle(std::move(batch));
    }
    ran_ += effects_.replies.size();
  }

  Engine engine_;
  Effects effects_;
  const WriteResult done_;
  std::vector<std::string> keys_;
  std::size_t next_ = 0;
  std::size_t asked_ = 0;
  std::size_t ran_ = 0;
  TimePoint now_{};
};

// Cuts every batch.
struct Probing {
  [[nodiscard]] Decision Start() const { return {.window = 4, .probe = 10}; }
  Decision Observe(const BatchSample&) { return Start(); }
  [[nodiscard]] std::string Name() const { return "probing"; }
};

TEST_CASE("the steady state of an engine does not allocate", "[engine]") {
  EngineOptions options;
  options.lane.write_policy = GENERATE(Policy(Natural{}), Policy(Probing{}), Policy(Stout{}));
  options.lane.max_batch_items = GENERATE(1, 64, 4096);
  Server server(options);
  server.Run(20);  // grows the buffers
  CHECK(test::AllocationsOf([&] { server.Run(20); }) == 0);
  CHECK(server.Quiet());
}

TEST_CASE("an engine keeps no memory of large keys", "[engine]") {
  EngineDriver server;
  const auto run = [&](std::size_t size) {
    for (std::size_t round = 0; round < 50; ++round) {
      for (std::size_t i = 0; i < 50; ++i) {
        const std::string key(i == round ? size : 100, static_cast<char>('0' + i));
        server.engine.MarkDirty({0, key}, 0, server.now);
        server.engine.Fetch({0, "read" + key}, i, server.now);
      }
      for (Effects sent = server.Poll(); !sent.writes.empty() || !sent.reads.empty();) {
        for (const ReadBatch& read : sent.reads) {
          const std::vector<StoredState> states(read.keys.size());
          server.engine.ReadDone(0, read.id, {.states = states}, server.now);
        }
        for (WriteBatch& batch : sent.writes) {
          server.engine.WriteDone(0, batch.id, {}, server.now);
          server.engine.Recycle(std::move(batch));
        }
        sent = server.Poll();
      }
    }
  };
  run(100);
  const std::size_t before = test::Bytes();
  run(std::size_t{1} << 20);
  CHECK(test::Bytes() < before + (std::size_t{4} << 20));
}

TEST_CASE("a fetch that waits does not let those after it leave anything", "[engine]") {
  EngineDriver server;
  server.engine.Fetch({0, "waits"}, 0, server.now);
  const Effects waits = server.Poll();
  const auto run = [&](FetchId fetches) {
    for (FetchId id = 1; id <= fetches; ++id) {
      server.engine.Fetch({0, "k"}, id, server.now);
      const Effects sent = server.Poll();
      const std::vector<StoredState> states(1);
      server.engine.ReadDone(0, sent.reads.at(0).id, {.states = states}, server.now);
    }
  };
  run(1000);
  const std::size_t before = test::Bytes();
  run(10'000);
  CHECK(test::Bytes() < before + 65'536);
}

}  // namespace
}  // namespace stout
