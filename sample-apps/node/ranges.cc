#include "node/ranges.h"

#include <boost/asio/dispatch.hpp>
#include <boost/asio/post.hpp>
#include <memory>
#include <utility>

#include "stout/core/errc.h"

namespace stout::node {

OneRange::OneRange(KeyMap& map, std::function<void()> on_fenced)
    : served_(std::make_shared<ServedRange>(
          ServedRange{.range = 0,
                      .epoch = 0,
                      .map = std::shared_ptr<KeyMap>(std::shared_ptr<void>(), &map),
                      .owns = [] { return true; },
                      .state = nullptr})),
      on_fenced_(std::move(on_fenced)) {}

void OneRange::Run(RangeId, bool, RangeServer::Operation operation) {
  boost::asio::dispatch(served_->map->get_executor(),
                        [this, operation = std::move(operation)]() mutable { operation(served_); });
}

void LeasedRanges::Run(RangeId range, bool alone, RangeServer::Operation operation) {
  const auto shared = members_ != nullptr ? members_->Shared(range) : nullptr;
  if (!shared) return server_.Run(range, std::move(operation));
  const auto run = [shared, operation = std::make_shared<RangeServer::Operation>(
                                std::move(operation))](const RangeServer::Served& served) {
    if (!served) return (*operation)(nullptr);
    boost::asio::post(shared->map->get_executor(), [served, operation] { (*operation)(served); });
  };
  if (!alone) return run(shared);
  // The owner's own map serves nothing. The lease decides which node runs it.
  server_.Run(range, [shared, run](const RangeServer::Served& owned) {
    if (!owned) return run(nullptr);
    auto served = std::make_shared<ServedRange>(*owned);
    served->map = shared->map;
    served->shared = true;
    run(served);
  });
}

std::optional<Lease> LeasedRanges::LeaseOf(RangeId range) const {
  const auto table = server_.table();
  return range < table->ranges.size() ? table->ranges[range] : std::nullopt;
}

std::vector<RangeServer::Served> LeasedRanges::Serving() const {
  auto own = Served();
  if (members_ == nullptr) return own;
  std::vector<RangeServer::Served> serving;
  auto next = own.begin();
  for (RangeId range = 0; range < partition().ranges; ++range) {
    auto served = members_->Shared(range);
    if (next != own.end() && (*next)->range == range) {
      if (!served) served = *next;
      ++next;
    }
    if (served) serving.push_back(std::move(served));
  }
  return serving;
}

void LeasedRanges::OnFenced(const ServedRange& served) {
  if (served.shared) return;  // its map ends by itself
  server_.GiveUp(served.range, served.epoch, Errc::kFenced);
}

}  // namespace stout::node
