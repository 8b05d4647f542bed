#include "tests/load/deployment_view.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "stout/adapters/open_lease_service.h"
#include "stout/registry.h"

namespace stout::test {
namespace {

std::size_t CountIn(const RangeRecord& set) {
  return static_cast<std::size_t>(
      std::ranges::count_if(set.members, [](const auto& member) { return member.in; }));
}

}  // namespace

DeploymentView::DeploymentView(const std::string& url)
    : work_(context_.get_executor()), thread_([this] { context_.run(); }) {
  Diagnostics why;
  auto service = OpenLeaseService(url, context_.get_executor(), &why);
  if (!service || (*service)->registry() == nullptr) {
    context_.stop();
    throw std::runtime_error("no deployment at " + url + ": " + why.message);
  }
  service_ = std::move(*service);
  lease_watch_ = service_->WatchTable([this](LeaseTable table) {
    const std::lock_guard lock(mutex_);
    leases_ = std::move(table);
  });
  record_watch_ = service_->registry()->WatchRecords([this](RegistryTable table) {
    const std::lock_guard lock(mutex_);
    records_ = std::move(table);
  });
}

DeploymentView::~DeploymentView() {
  lease_watch_.reset();
  record_watch_.reset();
  service_.reset();
  context_.stop();
  thread_.join();  // a handler may still run
}

LeaseTable DeploymentView::leases() const {
  const std::lock_guard lock(mutex_);
  return leases_;
}

RegistryTable DeploymentView::records() const {
  const std::lock_guard lock(mutex_);
  return records_;
}

std::vector<std::size_t> DeploymentView::MembersIn() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::size_t> counts;
  for (RangeId range = 0; range < leases_.ranges.size(); ++range) {
    if (!leases_.ranges[range]) continue;
    const auto set = records_.sets.find(range);
    counts.push_back(set == records_.sets.end() ? 0 : CountIn(set->second.value));
  }
  return counts;
}

bool DeploymentView::AllHave(std::size_t members) const {
  const std::vector<std::size_t> counts = MembersIn();
  return !counts.empty() && counts.size() == leases().ranges.size() &&
         std::ranges::all_of(counts, [members](std::size_t count) { return count == members; });
}

bool DeploymentView::SomeLack(std::size_t members) const {
  return std::ranges::any_of(MembersIn(), [members](std::size_t count) { return count < members; });
}

bool DeploymentView::AllIn(ReplicationMode mode) const {
  const RegistryTable table = records();
  return table.sets.size() == leases().ranges.size() &&
         std::ranges::all_of(table.sets,
                             [mode](const auto& set) { return ModeOf(set.second.value) == mode; });
}

std::size_t DeploymentView::RangesWith(const std::string& address, TimePoint since) const {
  const RegistryTable table = records();
  const auto is_in = [&](const RangeRecord::Member& member) {
    const auto datalet = table.datalets.find(member.datalet);
    return member.in && member.since >= since && datalet != table.datalets.end() &&
           datalet->second.value.node == address;
  };
  return static_cast<std::size_t>(std::ranges::count_if(table.sets, [&](const auto& set) {
    return std::ranges::any_of(set.second.value.members, is_in);
  }));
}

std::vector<RangeId> DeploymentView::RangesOf(const std::string& address) const {
  const LeaseTable table = leases();
  std::vector<RangeId> ranges;
  for (RangeId range = 0; range < table.ranges.size(); ++range) {
    if (table.ranges[range] && table.ranges[range]->address == address) ranges.push_back(range);
  }
  return ranges;
}

}  // namespace stout::test
