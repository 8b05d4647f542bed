#include "tests/sim/world.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "tests/sim/world_server.h"

namespace stout::sim {

using namespace std::chrono_literals;

World::World(const WorldOptions& options, bool print)
    : options_(options),
      random_(options.seed ^ 0x5bd1e995),
      trace_(print),
      history_(options.keys),
      store_(options_, random_.Fork(), agenda_, history_, trace_),
      memory_(options.keys),
      acknowledged_stamps_(options.keys) {
  for (KeyId key = 0; key < options.keys; ++key) names_.push_back(NameOf(key));
  store_.on_applied = [this](LaneId lane, Epoch epoch) { OnApplied(lane, epoch); };
}

World::~World() = default;

// --- The phases ----------------------------------------------------------------------------------

void World::Run() {
  Boot();
  SafetyPhase();
  LivenessPhase();
}

void World::RunUntil(TimePoint end) {
  bool reached = false;
  agenda_.Push(end, [&] { reached = true; });
  while (!reached && !verdict_.failed()) agenda_.Pop()();
}

void World::SafetyPhase() {
  for (std::uint32_t i = 0; i < options_.steps && !verdict_.failed(); ++i) {
    RunUntil(agenda_.now() + random_.Between(Duration::zero(), options_.mean_pause * 2));
    if (!verdict_.failed()) Step();
  }
}

void World::LivenessPhase() {
  if (verdict_.failed()) return;
  trace_.Add(agenda_.now(), "faults stop");
  store_.Heal();
  options_.faults = FaultRates{};
  // One who is leaving leaves now; one who draws the short straw against another server too.
  bool fenced = server_ == nullptr || server_->leaving;
  for (KeyId key = 0; key < options_.keys && !fenced; ++key) {
    fenced = store_.row(key).stamp.epoch > server_->engine.epoch();
  }
  if (fenced) Reboot();
  if (options_.poison) {
    RunUntil(agenda_.now() + Patience());
    ExpectQuiet({0}, "but the poison");
    store_.CurePoison();
  }
  if (!verdict_.failed()) RunUntil(agenda_.now() + Patience());
  ExpectQuiet({}, "of all faults");
  if (!verdict_.failed()) ExpectService();
}

/// Long enough for anything to end; what should end sooner is the witness's to check.
Duration World::Patience() const {
  const LaneOptions& lane = options_.engine.lane;
  const Duration lag = server_->witness.now() - std::min(server_->witness.now(), ServerTime());
  const Decision reading = lane.read_policy.Start();
  const Duration per_read = reading.interval + reading.gap + reading.tick;
  const Duration per_key = lane.max_delay + per_read + lane.retry_cap + 4 * options_.max_latency;
  return 3 * lane.attempt_timeout + 3 * lane.retry_cap + lag + (options_.keys + 4) * per_key +
         (options_.engine.reply_deadline == 5s ? 0s : options_.engine.reply_deadline);
}

void World::ExpectQuiet(const std::set<KeyId>& except, const char* phase) {
  if (verdict_.failed()) return;
  if (!server_->witness.IsQuiet(except)) {
    verdict_.Fail(
        fmt::format("after the end {} things wait still: {}", phase, server_->witness.Waiting()));
  }
  const EngineStats stats = server_->engine.Stats();
  if (!except.empty()) return;
  if (stats.replies_held != 0) verdict_.Fail("replies are held at the end");
  for (const LaneStats& lane : stats.lanes) {
    if (lane.dirty_keys != 0 || lane.dirty_bytes != 0 || lane.batches_in_flight != 0) {
      verdict_.Fail(fmt::format("at the end {} dirty keys, {} bytes, {} batches in flight",
                                lane.dirty_keys, lane.dirty_bytes, lane.batches_in_flight));
    }
  }
}

// Each key takes a change that is acknowledged and read back; then a drain ends.
void World::ExpectService() {
  options_.max_value_bytes = 0;
  options_.erase = 0;
  if (server_->leaving) Reboot();
  const bool may_expire = options_.engine.reply_deadline < 5s;
  for (KeyId key = 0; key < options_.keys && !verdict_.failed(); ++key) {
    const std::uint64_t before = acknowledged_;
    Modify(key);
    Ask({key});
    Poll();
    RunUntil(agenda_.now() + Patience());
    Fetch(key);
    Poll();
    RunUntil(agenda_.now() + Patience());
    if (acknowledged_ == before && !may_expire) verdict_.Fail("a change is not acknowledged");
  }
  ExpectQuiet({}, "and of all work");
  if (verdict_.failed()) return;
  server_->witness.OnDrain();
  server_->engine.Drain();
  Poll();
  if (!server_->witness.IsDrained()) verdict_.Fail("a drain of nothing does not end");
  Stop(Errc::kClosed);
}

// --- The server ----------------------------------------------------------------------------------

void World::Boot() {
  ++boots_;
  const Epoch epoch = store_.NewEpoch();
  trace_.Add(agenda_.now(), "boot", epoch);
  server_ = std::make_unique<Server>(*this, epoch);
}

void World::Crash() {
  trace_.Add(agenda_.now(), "crash");
  server_.reset();
  asked_.clear();
  fetching_.clear();
  for (InMemory& memory : memory_) memory.loaded = false;
  CheckAcknowledged();
}

void World::Reboot() {
  Crash();
  Boot();
}

void World::RebootLater() {
  if (server_ != nullptr) {
    if (server_->leaving) return;
    server_->leaving = true;
  }
  const std::uint64_t boot = boots_;
  agenda_.Push(agenda_.now() + random_.Between(1ms, 50ms), [this, boot] {
    if (boot == boots_) Reboot();
  });
}

void World::Step() {
  Trouble();
  if (server_ == nullptr || verdict_.failed()) return;
  for (std::uint64_t i = random_.Between(1, 4); i > 0 && !verdict_.failed(); --i) Operate();
  Poll();
  if (server_->witness.IsDrained()) RebootLater();
}

void World::Trouble() {
  if (random_.Chance(options_.faults.crash_server) && server_ != nullptr) {
    Crash();
    RebootLater();
  }
  if (random_.Chance(options_.faults.crash_store)) {
    trace_.Add(agenda_.now(), "store crash");
    store_.Crash();
    CheckAcknowledged();
    agenda_.Push(agenda_.now() + random_.Between(1ms, 300ms), [this] { store_.Restart(); });
  }
  if (random_.Chance(options_.faults.other_server)) {
    const auto key = static_cast<KeyId>(random_.Below(options_.keys));
    const Stamp stamp{store_.NewEpoch(), 1};
    trace_.Add(agenda_.now(), "other server", stamp.epoch, key);
    store_.WriteAsOther(
        key, history_.Add(
                 key, {.stamp = stamp, .value = fmt::format("{}={}", names_[key], ++counter_)}));
  }
  if (random_.Chance(options_.faults.clock_jump)) {
    const Duration jump = random_.Between(1ms, 1500ms);
    clock_offset_ += random_.Chance(500) ? jump : -jump;
    trace_.Add(agenda_.now(), "clock jump", static_cast<std::uint64_t>(jump.count()));
    if (server_ != nullptr) Poll();
  }
}

void World::Operate() {
  if (random_.Chance(options_.flush)) return Flush();
  if (random_.Chance(options_.drain)) {
    trace_.Add(agenda_.now(), "drain");
    server_->witness.OnDrain();
    server_->engine.Drain();
    return;
  }
  if (random_.Chance(options_.close)) {
    Stop(random_.Chance(500) ? Errc::kClosed : Errc::kFenced);
    return RebootLater();
  }
  if (random_.Chance(options_.fetch)) {
    return Fetch(static_cast<KeyId>(random_.Below(options_.keys)));
  }
  const std::vector<KeyId> keys = PickKeys();
  const std::uint64_t written = random_.Below(keys.size() + 1);
  for (std::uint64_t i = 0; i < written; ++i) Modify(keys[i]);
  if (random_.Chance(800)) Ask(keys);
}

std::vector<KeyId> World::PickKeys() {
  std::vector<KeyId> keys;
  for (std::uint64_t i = random_.Between(1, 3); i > 0; --i) {
    keys.push_back(static_cast<KeyId>(random_.Below(options_.keys)));  // one may come twice
  }
  return keys;
}

KeyRef World::Ref(KeyId key) const { return {.lane = key % options_.lanes, .key = names_[key]}; }

void World::Load(KeyId key) {
  InMemory& memory = memory_[key];
  if (memory.loaded) return;
  const Row& row = store_.row(key);
  memory.loaded = true;
  memory.change = {.stamp = row.stamp, .value = row.value, .deleted = !row.found};
}

void World::Modify(KeyId key) {
  Load(key);
  Change change;
  change.deleted = random_.Chance(options_.erase);
  change.refused = random_.Chance(options_.faults.refused);
  change.unserialisable = random_.Chance(options_.faults.unserialisable);
  if (!change.deleted) {
    change.value = fmt::format("{}={}", names_[key], ++counter_);
    const std::uint64_t size = random_.Between(0, options_.max_value_bytes);
    if (size > change.value.size()) change.value.resize(size, '.');
  }
  // Prefix ordering needs to be told the sizes: its batches cannot be cut.
  const LaneOptions& lane = options_.engine.lane;
  const bool tells = lane.prefix_ordering || random_.Chance(700);
  const std::size_t bytes = tells ? change.value.size() : 0;
  server_->witness.Advance(ServerTime());
  const MarkResult result = server_->engine.MarkDirty(Ref(key), bytes, ServerTime());
  trace_.Add(agenda_.now(), "mark", key, result.version, static_cast<std::uint64_t>(result.errc));
  server_->witness.OnMark(key, bytes, result);
  if (result.errc != Errc::kOk) return;
  change.stamp = {server_->engine.epoch(), result.version};
  const bool too_large = names_[key].size() + change.value.size() > lane.max_batch_bytes;
  if (change.refused || change.unserialisable || too_large) {
    // It takes the earlier changes with it that were not written yet.
    const auto& applied = store_.row(key).applied;
    const auto found = applied.find(change.stamp.epoch);
    const Version durable = found == applied.end() ? 0 : found->second;
    Version& bad =
        first_bad_.try_emplace({change.stamp.epoch, Ref(key).lane}, durable + 1).first->second;
    bad = std::min(bad, durable + 1);
  }
  memory_[key].change = history_.Add(key, std::move(change));
}

void World::Ask(const std::vector<KeyId>& keys) {
  const ReplyId id = ++last_id_;
  std::vector<Revealed>& revealed = asked_[id];
  std::vector<KeyRef> refs;
  for (const KeyId key : keys) {
    Load(key);
    revealed.push_back({key, memory_[key].change.stamp});
    refs.push_back(Ref(key));
  }
  server_->witness.Advance(ServerTime());
  trace_.Add(agenda_.now(), "safe reply", id);
  server_->witness.OnSafeReply(id, keys);
  server_->engine.SafeReply(refs, id, ServerTime());
  Take();
}

void World::Fetch(KeyId key) {
  const FetchId id = ++last_id_;
  server_->witness.Advance(ServerTime());
  trace_.Add(agenda_.now(), "fetch", id, key);
  fetching_[id] = key;
  server_->witness.OnFetch(id, key);
  server_->engine.Fetch(Ref(key), id, ServerTime());
  Take();
}

void World::Flush() {
  const ReplyId id = ++last_id_;
  server_->witness.Advance(ServerTime());
  trace_.Add(agenda_.now(), "flush", id);
  std::vector<Revealed>& revealed = asked_[id];
  for (KeyId key = 0; key < options_.keys; ++key) {
    if (server_->witness.IsDirty(key)) revealed.push_back({key, memory_[key].change.stamp});
  }
  server_->witness.OnFlush(id);
  server_->engine.Flush(id, ServerTime());
  Take();
}

void World::Stop(Errc why) {
  server_->witness.Advance(ServerTime());
  trace_.Add(agenda_.now(), "stop", static_cast<std::uint64_t>(why));
  server_->witness.OnStop(why);
  if (why == Errc::kFenced) {
    server_->engine.Fence(ServerTime());
  } else {
    server_->engine.Close(ServerTime());
  }
  Take();
}

void World::Poll() {
  for (int turn = 0; !verdict_.failed(); ++turn) {
    const TimePoint now = server_->witness.Advance(ServerTime());
    server_->witness.OnPoll();
    const TimePoint next = server_->engine.Poll(ServerTime(), server_->source);
    trace_.Add(agenda_.now(), "poll", static_cast<std::uint64_t>(next.time_since_epoch().count()));
    Take();
    server_->witness.OnPolled(next);
    if (turn > 8) verdict_.Fail("wants to be polled again at once, for ever");
    if (next <= now) continue;
    const std::uint64_t timer = ++timers_;
    if (next == kNever) return;
    agenda_.Push(agenda_.now() + (next - ServerTime()), [this, timer] {
      if (timer == timers_ && server_ != nullptr) Poll();
    });
    return;
  }
}

}  // namespace stout::sim
