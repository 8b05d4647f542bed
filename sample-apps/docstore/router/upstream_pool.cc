#include "router/upstream_pool.h"

#include <algorithm>
#include <boost/asio/error.hpp>
#include <utility>

namespace stout::docstore {
namespace {

namespace asio = boost::asio;
using std::chrono::steady_clock;

// Returns true if the server keeps the connection open and silent, as it should. Does not wait.
bool IsQuiet(asio::ip::tcp::socket& socket) {
  char byte = 0;
  boost::system::error_code ec;
  socket.non_blocking(true, ec);
  if (ec) return false;
  socket.receive(asio::buffer(&byte, 1), asio::socket_base::message_peek, ec);
  return ec == asio::error::would_block;
}

}  // namespace

std::unique_ptr<Upstream> UpstreamPool::Take(const std::string& address) {
  for (;;) {
    std::unique_ptr<Upstream> newest;
    {
      const std::lock_guard lock(mutex_);
      const auto found = idle_.find(address);
      if (found == idle_.end() || found->second.empty()) return nullptr;
      // The newest: those that are not needed grow old and go.
      Idle& idle = found->second.back();
      if (steady_clock::now() - idle.since < idle_timeout_) newest = std::move(idle.upstream);
      found->second.pop_back();
    }
    if (newest && IsQuiet(newest->socket)) return newest;
  }
}

void UpstreamPool::Give(std::unique_ptr<Upstream> upstream) {
  const std::lock_guard lock(mutex_);
  const auto now = steady_clock::now();
  std::deque<Idle>& idle = idle_[upstream->address];
  while (!idle.empty() && now - idle.front().since >= idle_timeout_) idle.pop_front();
  if (idle.size() >= max_idle_) idle.pop_front();
  idle.push_back({std::move(upstream), now});
}

void UpstreamPool::KeepOnly(const std::vector<std::string>& addresses) {
  const std::lock_guard lock(mutex_);
  std::erase_if(idle_, [&](const auto& each) {
    return !std::binary_search(addresses.begin(), addresses.end(), each.first);
  });
}

std::size_t UpstreamPool::idle() const {
  const std::lock_guard lock(mutex_);
  std::size_t sum = 0;
  for (const auto& [address, idle] : idle_) sum += idle.size();
  return sum;
}

}  // namespace stout::docstore
