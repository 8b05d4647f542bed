#include "http/body_budget.h"

#include <algorithm>
#include <cassert>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

namespace stout::http {

struct BodyBudget::State : std::enable_shared_from_this<State> {
  struct Waiter {
    std::size_t bytes;
    OnShare on_share;
  };

  explicit State(std::size_t most) : limit(most) {}

  [[nodiscard]] bool HasRoom(std::size_t bytes) const { return bytes <= limit - used; }

  // Runs `change`. Then gives shares to the waiters at the head of the line while there is room.
  template <typename Change>
  void Serve(Change change) {
    std::vector<Waiter> served;
    {
      const std::lock_guard lock(mutex);
      change();
      while (!line.empty() && HasRoom(line.begin()->second.bytes)) {
        used += line.begin()->second.bytes;
        served.push_back(std::move(line.begin()->second));
        line.erase(line.begin());
      }
    }
    for (Waiter& waiter : served) waiter.on_share(Share(shared_from_this(), waiter.bytes));
  }

  const std::size_t limit;
  mutable std::mutex mutex;
  std::size_t used = 0;
  std::uint64_t next = 0;
  std::map<std::uint64_t, Waiter> line;  // by the number of the place
};

BodyBudget::BodyBudget(std::size_t limit) : state_(std::make_shared<State>(limit)) {}

std::size_t BodyBudget::limit() const { return state_->limit; }

std::size_t BodyBudget::used() const {
  const std::lock_guard lock(state_->mutex);
  return state_->used;
}

std::size_t BodyBudget::waiting() const {
  const std::lock_guard lock(state_->mutex);
  return state_->line.size();
}

std::optional<BodyBudget::Share> BodyBudget::TryTake(std::size_t bytes) {
  const std::lock_guard lock(state_->mutex);
  if (!state_->line.empty() || !state_->HasRoom(bytes)) return std::nullopt;
  state_->used += bytes;
  return Share(state_, bytes);
}

BodyBudget::Place BodyBudget::Wait(std::size_t bytes, OnShare on_share) {
  assert(bytes <= state_->limit);
  std::uint64_t number = 0;
  state_->Serve([&] {
    number = state_->next++;
    state_->line.try_emplace(number, State::Waiter{bytes, std::move(on_share)});
  });
  return {state_, number};
}

BodyBudget::Place::~Place() {
  if (!state_) return;
  // This place may have been the head of the line, where it held up smaller requests.
  state_->Serve([this] { state_->line.erase(number_); });
}

BodyBudget::Share& BodyBudget::Share::operator=(Share&& other) noexcept {
  Shrink(0);
  state_ = std::move(other.state_);
  bytes_ = other.bytes_;
  return *this;
}

void BodyBudget::Share::Shrink(std::size_t bytes) {
  if (!state_ || bytes >= bytes_) return;
  const std::size_t given_back = std::exchange(bytes_, bytes);
  state_->Serve([&] { state_->used -= given_back - bytes; });
}

}  // namespace stout::http
