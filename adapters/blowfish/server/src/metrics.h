#pragma once

#include <prometheus/collectable.h>
#include <prometheus/metric_family.h>

#include <boost/asio/io_context.hpp>
#include <vector>

#include "service.h"

namespace stout::blowfish {

/// The server's figures, as Prometheus asks for them.
///
/// Threads: Collect() on any, while `context` runs; it looks at the service on that one's.
class Metrics : public prometheus::Collectable {
 public:
  /// Both outlive it.
  Metrics(boost::asio::io_context& context, const Service& service)
      : context_(context), service_(service) {}

  [[nodiscard]] std::vector<prometheus::MetricFamily> Collect() const override;

 private:
  boost::asio::io_context& context_;
  const Service& service_;
};

}  // namespace stout::blowfish
