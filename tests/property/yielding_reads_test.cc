// Random fetches, of which some yield, against a store that fails, is late, or is silent.
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "stout/core/engine.h"
#include "stout/core/random.h"
#include "tests/support/catch.h"
#include "tests/support/plain_options.h"
#include "tests/support/rounds.h"

namespace stout {
using namespace internal;
namespace {

using namespace std::chrono_literals;

// The application: each key that was put has a value until it is durable.
struct Values : StateSource {
  Serialized Serialize(KeyView key, std::string& value) noexcept override {
    value = key;
    return Serialized::kValue;
  }
};

class YieldingReads {
 public:
  explicit YieldingReads(std::uint64_t seed) : random_(seed), engine_(Options(random_), 1, 1) {}

  void Run() {
    for (int step = 0; step < 400; ++step) {
      Step();
      Poll();
    }
    // All fetches end soon once the store answers, whatever happened before.
    for (int step = 0; step < 400 && !waiting_.empty(); ++step) {
      now_ += 25ms;
      while (!reads_.empty()) Answer(0, Errc::kOk);
      while (!writes_.empty()) AnswerWrite();
      Poll();
    }
    CHECK(waiting_.empty());
  }

 private:
  static EngineOptions Options(SplitMix64& random) {
    EngineOptions options = Plain();
    options.lane.read_policy = Natural{.window = 1 + random.Below(3)};
    options.lane.max_batch_items = 1 + random.Below(8);
    options.lane.max_reads_in_flight = 1 + random.Below(20);
    options.lane.max_pending_reads = 20;
    options.lane.attempt_timeout = 50ms;
    options.lane.retry_first = 1ms;
    options.lane.retry_cap = 20ms;
    options.lane.yield_pause = static_cast<double>(random.Below(10));
    options.reply_deadline = random.Below(2) == 0 ? 40ms : 60s;
    return options;
  }

  void Step() {
    const std::string key(1, static_cast<char>('a' + random_.Below(12)));
    switch (random_.Below(10)) {
      case 0:
      case 1:
      case 2:
      case 3:
        waiting_.insert(++last_);
        return engine_.Fetch({0, key}, last_, now_, {.yields = random_.Below(2) == 0});
      case 4:
        return (void)engine_.MarkDirty({0, key}, 1, now_);
      case 5:
        if (!writes_.empty()) AnswerWrite();
        return;
      case 6:
      case 7:
        if (!reads_.empty() && random_.Below(20) > 0) {
          Answer(random_.Below(reads_.size()),
                 random_.Below(4) == 0 ? Errc::kTransient : Errc::kOk);
        }
        return;
      default:
        now_ += std::chrono::milliseconds(random_.Below(12));
    }
  }

  void Answer(std::size_t at, Errc errc) {
    const ReadBatch batch = reads_[at];
    reads_.erase(reads_.begin() + static_cast<std::ptrdiff_t>(at));
    ReadResult result{.errc = errc, .states = {}};
    if (errc == Errc::kOk) result.states.resize(batch.keys.size());
    engine_.ReadDone(0, batch.id, std::move(result), now_);
  }

  void AnswerWrite() {
    engine_.WriteDone(0, writes_.front().id, {}, now_);
    writes_.erase(writes_.begin());
  }

  void Poll() {
    const TimePoint next = engine_.Poll(now_, values_);
    Effects effects;
    engine_.TakeEffects(effects);
    for (const FetchDone& done : effects.fetched) {
      CHECK(waiting_.erase(done.id) == 1);  // once
    }
    for (WriteBatch& batch : effects.writes) writes_.push_back(std::move(batch));
    for (ReadBatch& batch : effects.reads) {
      CHECK(std::set<std::string>(batch.keys.begin(), batch.keys.end()).size() ==
            batch.keys.size());
      reads_.push_back(std::move(batch));
    }
    if (!waiting_.empty()) CHECK(next <= now_ + 200ms);  // nothing is forgotten
  }

  SplitMix64 random_;
  Engine engine_;
  Values values_;
  TimePoint now_{};
  FetchId last_ = 0;
  std::set<FetchId> waiting_;
  std::vector<ReadBatch> reads_;
  std::vector<WriteBatch> writes_;
};

TEST_CASE("each fetch ends once, whether it yields or not", "[read][long]") {
  const auto seed = GENERATE(range<std::uint64_t>(0, test::Rounds("STOUT_SEEDS", 300)));
  CAPTURE(seed);
  YieldingReads(seed).Run();
}

}  // namespace
}  // namespace stout
