#pragma once

#include <memory>

#include "stout/forwarding_store.h"

namespace stout {

/// Passes every call on to a store. Scans that start at about the same time read each page of the
/// store once. So the ranges of a node that are filled together list its keys once, not once each.
///
/// A scan starts with an empty cursor and waits for StartGathered. Each page is read after all
/// scans that get it have started. A scan that falls far behind the others reads its pages alone.
///
/// Owner: refers to the store, which outlives it and its calls.
/// Threads: any.
class SharedScans final : public ForwardingStore {
 public:
  explicit SharedScans(Store& store);
  ~SharedScans() override;

  /// Starts the scans that wait. Call it from time to time.
  void StartGathered();

  void Scan(const ScanRequest& request, ScanHandler handler) override;

 private:
  class State;

  const std::shared_ptr<State> state_;  // shared with the calls under way
};

}  // namespace stout
