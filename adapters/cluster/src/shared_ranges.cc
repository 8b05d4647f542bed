#include "shared_ranges.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <boost/asio/post.hpp>
#include <string>
#include <utility>
#include <vector>

#include "stout/core/errc.h"

namespace stout {

namespace asio = boost::asio;

namespace {

// Returns the members of a range that its map does not write to. On the map's strand.
std::vector<std::string> MembersApart(const ReplicatedMap& map) {
  std::vector<std::string> apart;
  for (const MemberStats& member : map.Members()) {
    if (!member.in) apart.push_back(member.datalet);
  }
  return apart;
}

}  // namespace

void SharedRanges::Follow(const std::map<RangeId, Recorded<RangeRecord>>& sets) {
  for (auto at = ranges_.begin(); at != ranges_.end();) {
    const auto set = sets.find(at->first);
    const bool stays =
        !leaves_ && set != sets.end() && set->second.value.shared == at->second.served->epoch;
    if (!stays) End(at->second);
    at = stays ? std::next(at) : ranges_.erase(at);
  }
  for (const auto& [range, set] : sets) {
    if (set.value.shared != 0 && !leaves_ && !ranges_.contains(range)) Open(range, set);
  }
}

void SharedRanges::Open(RangeId range, const Recorded<RangeRecord>& record) {
  const auto opened = std::make_shared<std::weak_ptr<ReplicatedMap>>();
  // A newer owner has fenced the map. The record will show that the range is shared no longer.
  const auto fenced = [weak = weak_from_this(), strand = strand_, range, opened](GivenUp) {
    asio::post(strand, [weak, range, map = opened->lock()] {
      const auto self = weak.lock();
      if (!self || !map) return;
      const auto found = self->ranges_.find(range);
      if (found == self->ranges_.end() || found->second.map != map) return;
      self->Publish(range, nullptr);
      self->ranges_.erase(found);
    });
  };
  const auto map = make_(range, record, fenced);
  *opened = map;
  const auto served = std::make_shared<ServedRange>(ServedRange{.range = range,
                                                                .epoch = record.value.shared,
                                                                .map = map,
                                                                .owns = [] { return true; },
                                                                .state = nullptr,
                                                                .shared = true});
  ranges_[range] = {map, served};
  map->Open([weak = weak_from_this(), strand = strand_, served](ErrorCode ec) {
    if (ec) return;
    asio::post(strand, [weak, served] {
      const auto self = weak.lock();
      if (!self) return;
      const auto found = self->ranges_.find(served->range);
      const bool present = found != self->ranges_.end() && found->second.served == served;
      if (present) self->Publish(served->range, served);
    });
  });
}

void SharedRanges::End(const Shared& former) {
  const RangeId range = former.served->range;
  const bool was_open = Find(range) != nullptr;
  Publish(range, nullptr);
  if (was_open) ending_[former.map] = range;
  asio::post(former.map->get_executor(),
             [weak = weak_from_this(), strand = strand_, map = former.map] {
               map->Drain([weak, strand, map, before = MembersApart(*map).size()](ErrorCode ec) {
                 std::vector<std::string> apart = MembersApart(*map);
                 if (!ec && apart.size() > before) ec = Errc::kUnknown;
                 map->Close();
                 asio::post(strand, [weak, map, ec, apart = std::move(apart)] {
                   if (const auto self = weak.lock()) self->OnEnded(map, ec, apart);
                 });
               });
             });
}

// A member that failed while the map ended was closed without the changes that it lacked.
void SharedRanges::OnEnded(const std::shared_ptr<ReplicatedMap>& map, ErrorCode ec,
                           const std::vector<std::string>& apart) {
  const auto ended = ending_.extract(map);
  if (!ended) return;
  if (leaves_ && (ec || !apart.empty())) {
    spdlog::warn(
        "range {}: left before all its datalets had confirmed all changes ({}); the range's owner "
        "copies such changes from datalets that have them",
        ended.mapped(),
        apart.empty() ? ec.message() : fmt::format("without {}", fmt::join(apart, ", ")));
  }
  if (leaves_ && ec) dropped_ = true;
  if (ending_.empty()) FinishLeaving();
}

void SharedRanges::Want(const std::vector<Replica>& replicas) {
  for (const auto& each : ranges_) {
    asio::post(each.second.map->get_executor(),
               [map = each.second.map, replicas] { map->Want({}, replicas); });
  }
}

RangeServer::Served SharedRanges::Find(RangeId range) const {
  if (!any_) return nullptr;
  const std::lock_guard lock(mutex_);
  const auto found = served_.find(range);
  return found != served_.end() ? found->second : nullptr;
}

void SharedRanges::Publish(RangeId range, RangeServer::Served served) {
  const std::lock_guard lock(mutex_);
  if (served) {
    served_[range] = std::move(served);
  } else {
    served_.erase(range);
  }
  any_ = !served_.empty();
}

void SharedRanges::Leave(Done done, Duration limit) {
  asio::post(strand_, [self = shared_from_this(), done = std::move(done), limit]() mutable {
    self->leaves_ = true;
    self->Follow({});
    self->left_ = std::move(done);
    if (self->ending_.empty()) return self->FinishLeaving();
    self->limit_.expires_after(limit);
    self->limit_.async_wait([weak = self->weak_from_this()](ErrorCode cut) {
      const auto left = weak.lock();
      if (left && !cut) left->CutEnding();
    });
  });
}

// A member has each change that was answered, and the owner's merge brings it to the others.
void SharedRanges::CutEnding() {
  for (const auto& [map, range] : std::exchange(ending_, {})) {
    spdlog::warn(
        "range {}: left after --handover-timeout, without the changes that members did not "
        "confirm; the answers to their clients report an unknown outcome",
        range);
    dropped_ = true;
    asio::post(map->get_executor(), [ended = map] { ended->Close(); });
  }
  FinishLeaving();
}

void SharedRanges::FinishLeaving() {
  limit_.cancel();
  if (auto left = std::exchange(left_, {})) {
    left(dropped_ ? ErrorCode(Errc::kUnknown) : ErrorCode());
  }
}

void SharedRanges::Clear() {
  leaves_ = true;
  ranges_.clear();
  ending_.clear();
  const std::lock_guard lock(mutex_);
  served_.clear();
  any_ = false;
}

}  // namespace stout
