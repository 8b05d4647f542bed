#include "node/transaction.h"

namespace stout::node {

bool Transaction::Queue(resp::Arguments arguments, std::size_t max_bytes) {
  std::size_t bytes = bytes_ + sizeof(Words);
  for (const std::string_view word : arguments) bytes += sizeof(std::string) + word.size();
  if (bytes + watched_bytes_ > max_bytes || queue_.size() >= kMaxQueued) return false;
  if (words_ + arguments.size() > kMaxWords) return false;
  bytes_ = bytes;
  words_ += arguments.size();
  queue_.emplace_back(arguments.begin(), arguments.end());
  return true;
}

std::vector<Transaction::Words> Transaction::End() {
  open_ = broken_ = false;
  bytes_ = words_ = 0;
  return std::exchange(queue_, {});
}

bool Transaction::Watch(KeyView key, const KeyState& now, std::size_t max_bytes) {
  if (watched_.contains(key)) return true;
  const std::size_t bytes = watched_bytes_ + sizeof(std::string) + sizeof(KeyState) + key.size();
  if (bytes > max_bytes || watched_.size() >= kMaxQueued) return false;
  watched_bytes_ = bytes;
  watched_.emplace(key, now);
  return true;
}

Transaction::Watched Transaction::Unwatch() {
  watched_bytes_ = 0;
  return std::exchange(watched_, {});
}

}  // namespace stout::node
