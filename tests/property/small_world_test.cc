// Goal: no order of a few events breaks a promise. Method: all orders of two changed keys, three
// replies and two batches, each with every outcome, on the real engine; then the store recovers
// and all must end.
#include <algorithm>
#include <array>
#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "stout/core/engine.h"
#include "tests/support/catch.h"

namespace stout {
using namespace internal;
namespace {

using namespace std::chrono_literals;

enum class Event { kMarkA, kMarkB, kReplyA, kReplyB, kReplyBoth, kSend, kAnswer };
enum class Outcome { kDone, kUnknown, kFirstRefused };

using Order = std::vector<Event>;

class SmallWorld final : public StateSource {
 public:
  explicit SmallWorld(std::array<Outcome, 2> outcomes)
      : engine_(Options(), 1, 1), outcomes_(outcomes) {}

  /// The violation, if any.
  std::optional<std::string> Run(const Order& order) {
    for (const Event event : order) Happen(event);
    Recover();
    if (engine_.Stats().lanes[0].dirty_keys != 0) trouble_ = "a key stays dirty";
    for (const auto& [id, reply] : replies_) {
      if (reply.runs != 1) trouble_ = "reply " + std::to_string(id) + " did not run once";
    }
    return trouble_;
  }

  Serialized Serialize(KeyView key, std::string& value) noexcept override {
    value = key;
    return Serialized::kValue;
  }

 private:
  struct Reply {
    std::map<std::string, Version> reveals;
    int runs = 0;
  };

  static EngineOptions Options() {
    EngineOptions options;
    options.lane.write_policy = Natural{.window = 2};
    return options;
  }

  void Happen(Event event) {
    switch (event) {
      case Event::kMarkA:
        return Mark("a");
      case Event::kMarkB:
        return Mark("b");
      case Event::kReplyA:
        return Ask(1, {"a"});
      case Event::kReplyB:
        return Ask(2, {"b"});
      case Event::kReplyBoth:
        return Ask(3, {"a", "b"});
      case Event::kSend:
        return Send();
      case Event::kAnswer:
        if (!in_flight_.empty()) Answer(outcomes_[std::min<std::size_t>(answered_++, 1)]);
    }
  }

  void Mark(const std::string& key) {
    versions_[key] = engine_.MarkDirty({0, key}, 1, now_).version;
    refused_[key] = false;
  }
  void Ask(ReplyId id, const std::vector<std::string>& keys) {
    std::vector<KeyRef> refs;
    for (const std::string& key : keys) {
      replies_[id].reveals[key] = refused_[key] ? 0 : versions_[key];
      refs.push_back({0, key});
    }
    engine_.SafeReply(refs, id, now_);
    Take();
  }
  void Send() {
    now_ += 100ms;  // the pause after an answer that was lost is over
    next_ = engine_.Poll(now_, *this);
    Take();
  }
  void Answer(Outcome outcome) {
    const WriteBatch batch = in_flight_.front();
    in_flight_.erase(in_flight_.begin());
    WriteResult result;
    if (outcome == Outcome::kUnknown) result.batch = Errc::kUnknown;
    if (outcome == Outcome::kFirstRefused) result.items = {{0, Errc::kRefused}};
    for (const WriteItem& item : batch.items) {
      if (outcome == Outcome::kUnknown)
        unknown_[item.key] = std::max(unknown_[item.key], item.version);
      const bool refused = outcome == Outcome::kFirstRefused && &item == &batch.items[0];
      if (refused && versions_[item.key] == item.version) refused_[item.key] = true;
      if (outcome == Outcome::kDone || (!refused && outcome != Outcome::kUnknown)) {
        durable_[item.key] = std::max(durable_[item.key], item.version);
      }
    }
    engine_.WriteDone(0, batch.id, result, now_);
    Take();
  }
  void Recover() {
    for (int round = 0; round < 10; ++round) {
      while (!in_flight_.empty()) Answer(Outcome::kDone);
      if (next_ != kNever) now_ = std::max(now_, next_);
      Send();
    }
  }
  void Take() {
    engine_.TakeEffects(effects_);
    for (const WriteBatch& batch : effects_.writes) in_flight_.push_back(batch);
    for (const RunReply& run : effects_.replies) {
      Reply& reply = replies_[run.id];
      ++reply.runs;
      bool lacking = false;  // a state that it reveals is not in the store, and never will be
      bool doubtful = false;
      for (const auto& [key, version] : reply.reveals) {
        const bool durable = durable_[key] >= version;
        if (run.errc == Errc::kOk && !durable) trouble_ = "a reply ran too early";
        lacking |= !durable && unknown_[key] < version;
        doubtful |= unknown_[key] >= version;
      }
      if (run.errc == Errc::kRefused && !lacking) trouble_ = "what may be durable was refused";
      if (run.errc == Errc::kUnknown && !doubtful) trouble_ = "a reply is unknown for no reason";
      const bool expected =
          run.errc == Errc::kOk || run.errc == Errc::kRefused || run.errc == Errc::kUnknown;
      if (!expected) trouble_ = "a reply failed";
    }
  }

  Engine engine_;
  Effects effects_;
  std::array<Outcome, 2> outcomes_;
  std::size_t answered_ = 0;
  std::vector<WriteBatch> in_flight_;
  std::map<std::string, Version> versions_;
  std::map<std::string, Version> durable_;
  std::map<std::string, Version> unknown_;  // sent, and the answer was lost
  std::map<std::string, bool> refused_;
  std::map<ReplyId, Reply> replies_;
  TimePoint now_{};
  TimePoint next_{};
  std::optional<std::string> trouble_;
};

TEST_CASE("every order of 2 keys, 3 replies and 2 batches keeps the promises", "[engine]") {
  const std::array outcomes{Outcome::kDone, Outcome::kUnknown, Outcome::kFirstRefused};
  const auto first = GENERATE_COPY(from_range(outcomes));
  const auto second = GENERATE_COPY(from_range(outcomes));
  Order order{Event::kMarkA, Event::kMarkB, Event::kReplyA, Event::kReplyB, Event::kReplyBoth,
              Event::kSend,  Event::kSend,  Event::kAnswer, Event::kAnswer};
  std::size_t orders = 0;
  do {
    const auto send = std::find(order.begin(), order.end(), Event::kSend);
    const auto answer = std::find(order.begin(), order.end(), Event::kAnswer);
    const auto a = std::find(order.begin(), order.end(), Event::kMarkA);
    const auto b = std::find(order.begin(), order.end(), Event::kMarkB);
    if (b < a || answer < send || send < a) continue;  // by symmetry, or nothing happens
    ++orders;
    const std::optional<std::string> trouble = SmallWorld({first, second}).Run(order);
    if (!trouble) continue;
    CAPTURE(order, first, second, *trouble);
    FAIL();
  } while (std::next_permutation(order.begin(), order.end()));
  CHECK(orders > 5000);
}

}  // namespace
}  // namespace stout
