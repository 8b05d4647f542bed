#include "node/ranges.h"

#include <boost/asio/dispatch.hpp>

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

void OneRange::Run(RangeId, RangeServer::Operation operation) {
  boost::asio::dispatch(served_->map->get_executor(),
                        [this, operation = std::move(operation)]() mutable { operation(served_); });
}

std::optional<Lease> LeasedRanges::LeaseOf(RangeId range) const {
  const auto table = server_.table();
  return range < table->ranges.size() ? table->ranges[range] : std::nullopt;
}

void LeasedRanges::OnFenced(const ServedRange& served) {
  server_.GiveUp(served.range, served.epoch, Errc::kFenced);
}

}  // namespace stout::node
