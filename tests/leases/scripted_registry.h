#pragma once

#include <mutex>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "registry_test_support.h"
#include "stout/core/registry_table.h"
#include "stout/registry.h"

namespace stout::test {

// A registry by hand.
class ScriptedRegistry final : public Registry {
 public:
  void Change(RegistryChange change, ChangeHandler handler) override {
    const std::lock_guard lock(mutex_);
    const bool held = holds_versions && std::holds_alternative<ReservedVersions>(*change.value);
    changes_.push_back(std::move(change));
    if (held) return void(held_ = std::move(handler));
    handler({}, {.outcome = ChangeOutcome::kDone, .revision = 9});
  }
  void Read(ReadHandler handler) override {
    const std::lock_guard lock(mutex_);
    reads_.push_back(std::move(handler));
  }
  Watch WatchRecords(TableHandler handler) override {
    const std::lock_guard lock(mutex_);
    if (reported) handler(*reported);
    report_ = std::move(handler);
    return nullptr;
  }
  Result<std::unique_ptr<LeaseService>> OpenTable(std::string_view, Diagnostics*) override {
    return Errc::kBadOptions;
  }

  // Answers the first read that waits. False: none came.
  bool AnswerRead(const RegistryTable& table) {
    ReadHandler handler;
    const bool came = Eventually([&] {
      const std::lock_guard lock(mutex_);
      if (reads_.empty()) return false;
      handler = std::move(reads_.front());
      reads_.erase(reads_.begin());
      return true;
    });
    if (came) handler({}, table);
    return came;
  }
  // Answers the reservation that is held; false: none is. Later ones are answered at once.
  bool GrantVersions() {
    const std::lock_guard lock(mutex_);
    if (!held_) return false;
    holds_versions = false;
    std::exchange(held_, {})({}, {.outcome = ChangeOutcome::kDone, .revision = 9});
    return true;
  }
  [[nodiscard]] bool HoldsVersions() {
    const std::lock_guard lock(mutex_);
    return static_cast<bool>(held_);
  }
  std::vector<RegistryChange> changes() {
    const std::lock_guard lock(mutex_);
    return changes_;
  }

  void Report(const RegistryTable& table) {
    const std::lock_guard lock(mutex_);
    report_(table);
  }

  std::optional<RegistryTable> reported;  // set before the watch
  bool holds_versions = false;            // set before the start

 private:
  std::mutex mutex_;
  std::vector<ReadHandler> reads_;
  std::vector<RegistryChange> changes_;
  ChangeHandler held_;
  TableHandler report_;
};

class ScriptedLeases final : public LeasesAlone {
 public:
  Registry* registry() override { return &scripted; }

  ScriptedRegistry scripted;
};

}  // namespace stout::test
