#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "stout/adapters/member_ranges.h"
#include "stout/adapters/partition.h"
#include "stout/adapters/range_server.h"
#include "stout/core/lease_table.h"
#include "stout/core/types.h"
#include "stout/key_map.h"

namespace stout::node {

/// The ranges of keys of a deployment, each in a map of one of its nodes.
///
/// Threads: any.
class Ranges {
 public:
  Ranges() = default;
  Ranges(const Ranges&) = delete;
  Ranges& operator=(const Ranges&) = delete;
  virtual ~Ranges() = default;

  [[nodiscard]] virtual const Partition& partition() const = 0;
  [[nodiscard]] RangeId RangeOf(KeyView key) const { return partition().RangeOf(key); }
  /// As RangeServer::Run. `alone`: the operation decides by what it reads, so only the owner of a
  /// shared range may run it; other operations run at each node then.
  virtual void Run(RangeId range, bool alone, RangeServer::Operation operation) = 0;
  /// Returns true if all nodes serve the range, in mode aa+ec.
  [[nodiscard]] virtual bool IsShared(RangeId) const { return false; }
  /// Returns the lease of a range as this node last heard of it; nullopt if it is free, or if the
  /// node is alone.
  [[nodiscard]] virtual std::optional<Lease> LeaseOf(RangeId range) const = 0;
  /// Returns the ranges whose maps this node has.
  [[nodiscard]] virtual std::vector<RangeServer::Served> Served() const = 0;
  /// As Served, but of a range that all nodes serve it returns the map of this node that serves.
  [[nodiscard]] virtual std::vector<RangeServer::Served> Serving() const { return Served(); }
  /// Call it when a map reports kFenced: another node writes its keys.
  virtual void OnFenced(const ServedRange& served) = 0;
};

/// A node that is alone: all keys are one range.
class OneRange final : public Ranges {
 public:
  /// `map` outlives it. `on_fenced` may be called more than once.
  OneRange(KeyMap& map, std::function<void()> on_fenced);

  [[nodiscard]] const Partition& partition() const override { return partition_; }
  void Run(RangeId range, bool alone, RangeServer::Operation operation) override;
  [[nodiscard]] std::optional<Lease> LeaseOf(RangeId) const override { return std::nullopt; }
  [[nodiscard]] std::vector<RangeServer::Served> Served() const override { return {served_}; }
  void OnFenced(const ServedRange&) override { on_fenced_(); }

 private:
  const Partition partition_ = IntervalPartition({});
  const RangeServer::Served served_;
  const std::function<void()> on_fenced_;
};

/// A node among others, which share the ranges by leases.
class LeasedRanges final : public Ranges {
 public:
  /// Both outlive it. `members`: the server's source, if ranges have members; otherwise null.
  LeasedRanges(RangeServer& server, const MemberRanges* members)
      : server_(server), members_(members) {}

  [[nodiscard]] const Partition& partition() const override { return server_.partition(); }
  void Run(RangeId range, bool alone, RangeServer::Operation operation) override;
  [[nodiscard]] bool IsShared(RangeId range) const override {
    return members_ != nullptr && members_->Shared(range) != nullptr;
  }
  [[nodiscard]] std::optional<Lease> LeaseOf(RangeId range) const override;
  [[nodiscard]] std::vector<RangeServer::Served> Served() const override {
    return server_.ranges();
  }
  [[nodiscard]] std::vector<RangeServer::Served> Serving() const override;
  void OnFenced(const ServedRange& served) override;

 private:
  RangeServer& server_;
  const MemberRanges* const members_;
};

}  // namespace stout::node
