// Goal: no crash of the program or the machine, and no fault of the disk, makes a store break a
// promise. Method: a store on a simulated disk lives several lives, each ended by a crash at a
// random call. Writes, fences, epochs, freezes and compactions come at random, from a writer that
// repeats, reorders and sends old writes. The state after each start is compared with the answers,
// and with the states that were seen.

#include <algorithm>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "blowfish/log/log_store.h"
#include "sim_disk.h"
#include "stout/core/random.h"
#include "tests/support/catch.h"
#include "tests/support/rounds.h"

namespace stout::blowfish {
namespace {

using State = std::optional<std::string>;  // nullopt: deleted

// The value sent of a key under one stamp.
struct Sent {
  State state;
  int attempts = 0;  // That may have left it in the log: not those that were answered kTransient.
};

class World {
 public:
  explicit World(std::uint64_t seed) : random_(seed), disk_(random_.Next()) {}

  void LiveAndCrash() {
    Start();
    CheckAll();
    // A life without faults, or with many of them.
    disk_.fault_rate = random_.Below(2) == 0 ? 0 : random_.Unit() * 0.3;
    disk_.crash_at = disk_.calls() + random_.Below(150);
    while (!disk_.crashed()) Step();
    store_.reset();
    disk_.Restart(random_.Below(3) != 0);
  }

 private:
  static constexpr int kKeys = 6;

  // Starts may crash and fail, too.
  void Start() {
    ++life_;
    freezing_ = false;
    frozen_.reset();
    disk_.fault_rate = random_.Below(2) == 0 ? 0 : 0.05;
    for (;;) {
      if (random_.Below(3) == 0) disk_.crash_at = disk_.calls() + random_.Below(10);
      LogStoreOptions options;
      options.shard = 3;
      options.first_sequence = first_sequence_;
      options.older_stamp = [this](KeyView key) { return OlderStamp(std::string(key)); };
      options.own_thread = false;
      options.seed = random_.Next();
      Diagnostics diagnostics;
      auto store = LogStore::Open(disk_, std::move(options), nullptr, &diagnostics);
      if (disk_.crashed()) {
        store = Errc::kTransient;
        disk_.Restart(random_.Below(2) == 0);
        continue;
      }
      INFO(diagnostics.message);
      if (!store) {
        const bool unread = diagnostics.message.find("cannot be read") != std::string::npos;
        REQUIRE(store.error() == (unread ? Errc::kCorrupt : Errc::kTransient));
        continue;
      }
      store_ = *std::move(store);
      return;
    }
  }

  // False for handlers of a life that has ended.
  [[nodiscard]] bool Told(int life) const { return life == life_ && !disk_.crashed(); }

  void Step() {
    switch (random_.Below(20)) {
      case 0:
        return Freeze();
      case 1:
        return Compact();
      case 2:
        return Fence();
      case 3:
        return NewEpoch();
      case 4:
      case 5:
      case 6:
      case 7:
        store_->CommitWaiting();
        [[fallthrough]];
      case 8:
        store_->Poll();
        return CheckAll();
      default:
        return Write();
    }
  }

  void Write() {
    WriteBatch batch{.epoch = 1 + random_.Below(std::max<Epoch>(epoch_, 1))};
    if (random_.Below(3) != 0) batch.epoch = std::max<Epoch>(epoch_, 1);
    if (random_.Below(4) == 0) batch.scope = "scope";
    const bool shut = !batch.scope.empty() && batch.epoch < fence_;
    for (int key = 0; key < kKeys; ++key) {
      if (random_.Below(3) != 0) continue;
      batch.items.push_back(MakeItem(std::to_string(key), batch.epoch));
    }
    if (batch.items.empty()) return;
    store_->Write(batch, 0, [this, shut, batch, life = life_](const WriteResult& result) {
      if (!Told(life)) return;
      CHECK((!shut || result.batch == Errc::kFenced));
      auto named = result.items.begin();
      for (std::uint32_t i = 0; i < batch.items.size(); ++i) {
        const bool is_named = named != result.items.end() && named->index == i;
        const Errc errc = is_named ? (named++)->errc : result.batch;
        Answered(batch.items[i].key, {batch.epoch, batch.items[i].version}, errc);
      }
      CHECK(named == result.items.end());
    });
  }

  // Mostly a new write, otherwise a repetition of one sent under this epoch.
  WriteItem MakeItem(const std::string& key, Epoch epoch) {
    WriteItem item{.key = key, .version = ++version_};
    auto& sent = sent_[key];
    const auto first = sent.lower_bound({epoch, 0});
    const auto last = sent.lower_bound({epoch + 1, 0});
    if (first != last && random_.Below(4) == 0) {
      const auto repeated =
          std::next(first, random_.Below(static_cast<std::uint64_t>(std::distance(first, last))));
      item.version = repeated->first.version;
    } else {
      State& state = sent[{epoch, version_}].state;
      if (random_.Below(4) != 0) {
        state = std::to_string(version_) + std::string(random_.Below(400), '.');
      }
    }
    Sent& what = sent.at({epoch, item.version});
    ++what.attempts;
    item.kind = what.state ? WriteKind::kPut : WriteKind::kDelete;
    item.value = what.state.value_or("");
    return item;
  }

  void Answered(const std::string& key, Stamp stamp, Errc errc) {
    switch (errc) {
      case Errc::kOk:
        reached_[key] = std::max(reached_[key], stamp);
        break;
      case Errc::kTransient:
      case Errc::kFenced:
        --sent_[key].at(stamp).attempts;
        break;
      default:
        CHECK(errc == Errc::kUnknown);
    }
  }

  void Fence() {
    const Epoch epoch = std::max<Epoch>(fence_, 1) + random_.Below(2);
    store_->Fence("scope", epoch, [this, epoch, life = life_](ErrorCode error) {
      if (Told(life) && !error) fence_ = std::max(fence_, epoch);
    });
    epoch_ = std::max(epoch_, epoch);
  }

  void NewEpoch() {
    store_->NewEpoch([this, life = life_](ErrorCode error, Epoch epoch) {
      if (!Told(life) || error) return;
      CHECK(epoch > given_);
      CHECK(epoch > fence_);
      given_ = epoch;
      epoch_ = std::max(epoch_, epoch);
    });
  }

  void Freeze() {
    if (freezing_ || frozen_) return;
    freezing_ = true;
    store_->Freeze([this, life = life_](ErrorCode error, FrozenLog frozen) {
      if (life != life_) return;
      freezing_ = false;
      if (!error) frozen_ = std::move(frozen);
    });
  }

  // A compaction writes to another disk, which is perfect.
  void Compact() {
    if (!frozen_) return;
    for (const LogEntry* entry : frozen_->table->InKeyOrder()) {
      const Record& record = entry->record;
      compacted_[std::string(record.key)] = {
          record.stamp, entry->deleted ? State() : State(std::string(record.value))};
    }
    first_sequence_ = frozen_->through + 1;
    (void)RemoveLogs(disk_, frozen_->through);
    frozen_.reset();
  }

  // Returns the state of a key in all stores together, the newest store first.
  [[nodiscard]] std::optional<std::pair<Stamp, State>> Find(const std::string& key) const {
    if (const LogEntry* entry = store_->table().Find(key)) return StateOf(*entry);
    return FindOlder(key);
  }
  [[nodiscard]] std::optional<std::pair<Stamp, State>> FindOlder(const std::string& key) const {
    if (frozen_) {
      if (const LogEntry* entry = frozen_->table->Find(key)) return StateOf(*entry);
    }
    const auto compacted = compacted_.find(key);
    if (compacted == compacted_.end()) return std::nullopt;
    return compacted->second;
  }
  [[nodiscard]] std::optional<Stamp> OlderStamp(const std::string& key) const {
    const auto older = FindOlder(key);
    if (!older) return std::nullopt;
    return older->first;
  }
  static std::pair<Stamp, State> StateOf(const LogEntry& entry) {
    return {entry.record.stamp, entry.deleted ? State() : State(std::string(entry.record.value))};
  }

  // No answered or seen write is lost. Every write that is there was sent, and was not reported as
  // failed for good.
  void CheckAll() {
    for (int i = 0; i < kKeys; ++i) {
      const std::string key = std::to_string(i);
      const auto found = Find(key);
      const Stamp stamp = found ? found->first : Stamp();
      CAPTURE(key, stamp.epoch, stamp.version, life_);
      REQUIRE(stamp >= reached_[key]);
      reached_[key] = stamp;
      if (!found) continue;
      REQUIRE(sent_[key].contains(stamp));
      const Sent& sent = sent_[key].at(stamp);
      REQUIRE(sent.attempts > 0);
      REQUIRE(found->second == sent.state);
    }
  }

  SplitMix64 random_;
  test::SimDisk disk_;
  int life_ = 0;
  std::unique_ptr<LogStore> store_;

  // State of the outside world, which does not crash.
  std::map<std::string, std::map<Stamp, Sent>> sent_;
  std::map<std::string, Stamp> reached_;  // The newest that was acknowledged or seen.
  Version version_ = 0;
  Epoch epoch_ = 0;  // The newest that anyone knows.
  Epoch given_ = 0;
  Epoch fence_ = 0;
  std::map<std::string, std::pair<Stamp, State>> compacted_;
  std::uint64_t first_sequence_ = 0;
  std::optional<FrozenLog> frozen_;
  bool freezing_ = false;
};

TEST_CASE("a store keeps its word through crashes", "[log][long]") {
  const std::uint64_t seed =
      GENERATE(range<std::uint64_t>(0, stout::test::Rounds("STOUT_SEEDS", 150)));
  CAPTURE(seed);
  World world(seed);
  for (int life = 0; life < 6; ++life) world.LiveAndCrash();
}

}  // namespace
}  // namespace stout::blowfish
