#include "tests/load/load_threads.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace stout::test {

LoadThreads::LoadThreads(LoadOptions options) : options_(std::move(options)) {
  for (int i = 0; i < options_.clients; ++i) {
    clients_.push_back(
        std::make_unique<ChaosClient>(i, options_.seed * 1000 + static_cast<unsigned>(i),
                                      options_.ports, options_.keys, *options_.protocol));
  }
  for (std::size_t i = 0; i < clients_.size(); ++i) threads_.emplace_back([this, i] { Run(i); });
}

void LoadThreads::Run(std::size_t index) {
  ChaosClient& client = *clients_[index];
  const std::int64_t start_ns = ChaosNow();
  // Clients begin one after another, so that their operations are spread.
  const double gap_ns = options_.rate > 0 ? 1e9 / options_.rate : 0;
  for (auto number = static_cast<double>(index); !stop_;
       number += static_cast<double>(clients_.size())) {
    std::int64_t due_ns = ChaosNow();
    if (gap_ns > 0) {
      due_ns = start_ns + static_cast<std::int64_t>(number * gap_ns);
      while (!stop_ && ChaosNow() < due_ns) {
        std::this_thread::sleep_for(
            std::chrono::nanoseconds(std::min<std::int64_t>(due_ns - ChaosNow(), 100'000'000)));
      }
      if (stop_) return;
    }
    const bool ok = client.Step();
    ++(ok ? done_ : failed_);
    if (options_.on_step) options_.on_step(due_ns, ChaosNow(), ok);
    // Leaves the processors to the servers.
    if (gap_ns == 0) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
}

void LoadThreads::Stop() {
  stop_ = true;
  threads_.clear();
}

std::vector<Operation> LoadThreads::History() const {
  std::vector<Operation> history;
  for (const auto& client : clients_)
    history.insert(history.end(), client->history().begin(), client->history().end());
  return history;
}

}  // namespace stout::test
