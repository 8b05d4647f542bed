#include "program/shutdown.h"

#include <spdlog/spdlog.h>

#include <cstdlib>
#include <utility>

#include "stout/core/policy/basic.h"

namespace stout::program {

Shutdown::Shutdown(boost::asio::io_context& context, std::chrono::nanoseconds timeout, Step drain,
                   Step close)
    : timeout_(timeout),
      drain_(std::move(drain)),
      close_(std::move(close)),
      timer_(context),
      signals_(context, [this] { OnSignal(); }) {}

void Shutdown::OnSignal() {
  if (draining_.exchange(true)) return Cut("second signal");
  Drain();
}

void Shutdown::Drain() {
  spdlog::info("signal: draining for at most {}", FormatDuration(timeout_));
  timer_.expires_after(timeout_);
  timer_.async_wait([this](ErrorCode ec) {
    if (!ec) Cut("--drain-timeout passed");
  });
  drain_([this](ErrorCode ec) {
    if (ec) return Cut("the drain failed: " + ec.message());
    if (Claim()) code_.set_value(EXIT_SUCCESS);
  });
}

void Shutdown::Cut(const std::string& why) {
  if (!Claim()) return;
  spdlog::error("{}: closing at once; changes that were not answered may be lost", why);
  close_([this](ErrorCode) { code_.set_value(EXIT_FAILURE); });
}

}  // namespace stout::program
