#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <utility>

#include "stout/store.h"

namespace stout {

/// A store that holds each call until the test answers it, in any order, well, badly, twice, from
/// any thread, or never. It keeps no data: what it is asked is what there is to see.
///
///     Held write = store.TakeWrite();
///     CHECK(write.batch.items.size() == 2);
///     write.handler({});                       // all durable
///
/// A key belongs to the partition that its first character names, "0" to "9"; others to 0.
/// Threads: none of its own; callers serialise.
class ScriptedStore final : public Store {
 public:
  template <typename Batch, typename Handler>
  struct Held {
    Batch batch;  // a copy: the original may be gone once it is answered
    Handler handler;
  };
  using HeldWrite = Held<WriteBatch, WriteHandler>;
  using HeldRead = Held<ReadBatch, ReadHandler>;
  using HeldScan = Held<ScanRequest, ScanHandler>;

  struct HeldFence {
    Scope scope;
    Epoch epoch;
    FenceHandler handler;
  };

  explicit ScriptedStore(LaneId partitions = 1) {
    traits_ = {
        .name = "scripted", .compares_stamps = true, .fences = true, .partitions = partitions};
  }

  [[nodiscard]] const StoreTraits& traits() const override { return traits_; }
  [[nodiscard]] LaneId PartitionOf(KeyView key) const override {
    const auto digit = static_cast<LaneId>(key.empty() ? 0 : key.front() - '0');
    return digit < traits_.partitions ? digit : 0;
  }
  void Write(const WriteBatch& batch, WriteHandler handler) override {
    if (answer_writes_inline) return handler({});
    writes.push_back({batch, std::move(handler)});
  }
  void Read(const ReadBatch& batch, ReadHandler handler) override {
    reads.push_back({batch, std::move(handler)});
  }
  void NewEpoch(EpochHandler handler) override {
    if (hold_epochs) {
      epochs.push_back(std::move(handler));
    } else {
      handler({}, ++last_epoch);
    }
  }

  void Fence(const Scope& scope, Epoch epoch, FenceHandler handler) override {
    fences.push_back({scope, epoch, std::move(handler)});
  }

  void Scan(const ScanRequest& request, ScanHandler handler) override {
    scans.push_back({request, std::move(handler)});
  }

  void set_ordered() { traits_.scans = traits_.ordered = true; }

  HeldWrite TakeWrite() { return Take(writes); }
  HeldRead TakeRead() { return Take(reads); }
  HeldScan TakeScan() { return Take(scans); }

  std::deque<HeldWrite> writes;
  std::deque<HeldRead> reads;
  std::deque<HeldScan> scans;
  std::deque<EpochHandler> epochs;
  std::deque<HeldFence> fences;
  bool answer_writes_inline = false;
  bool hold_epochs = false;
  Epoch last_epoch = 0;

 private:
  template <typename T>
  static T Take(std::deque<T>& held) {
    T first = std::move(held.front());
    held.pop_front();
    return first;
  }

  StoreTraits traits_;
};

}  // namespace stout
