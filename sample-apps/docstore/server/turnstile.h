#pragma once

#include <deque>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>

#include "stout/completion.h"
#include "stout/error.h"
#include "stout/unique_function.h"

namespace stout::docstore {

/// Lets the requests of one document through one after another, in the order of their arrival,
/// while one of them waits for the store. If a client sends two PUTs, or a PUT and a GET, without a
/// pause, they therefore take effect in that order. It does not matter which states have to be read
/// first.
///
/// Owner: shared with the turns.   Threads: one strand.
class Turnstile : public std::enable_shared_from_this<Turnstile> {
 public:
  /// Held while a request reads and changes; the document's next request goes when it ends.
  class Turn {
   public:
    Turn() = default;
    Turn(std::shared_ptr<Turnstile> turnstile, std::string name)
        : turnstile_(std::move(turnstile)), name_(std::move(name)) {}
    Turn(Turn&& other) noexcept = default;
    Turn& operator=(Turn&& other) noexcept {
      End();
      turnstile_ = std::move(other.turnstile_);
      name_ = std::move(other.name_);
      return *this;
    }
    ~Turn() { End(); }

    explicit operator bool() const { return turnstile_ != nullptr; }
    void End() {
      if (turnstile_) std::exchange(turnstile_, nullptr)->Pass(name_);
    }
    /// Ends it and those of all that wait: the store fails, and each would wait for it in vain.
    void Fail(ErrorCode ec) {
      if (turnstile_) std::exchange(turnstile_, nullptr)->FailAll(name_, ec);
    }

   private:
    std::shared_ptr<Turnstile> turnstile_;
    std::string name_;
  };

  [[nodiscard]] bool IsTaken(const std::string& name) const { return lines_.contains(name); }

  /// Takes the turn of a name that is not taken.
  [[nodiscard]] Turn Take(const std::string& name) {
    lines_.try_emplace(name);
    return {shared_from_this(), name};
  }

  /// Waits for the turn of a name that is taken: `void(ErrorCode, Turn)`.
  template <typename Token>
  auto AsyncWait(const std::string& name, Token&& token) {
    return Initiate<void(ErrorCode, Turn)>(
        [this, name](Waiter waiter) { lines_[name].push_back(std::move(waiter)); },
        std::forward<Token>(token));
  }

 private:
  using Waiter = UniqueFunction<void(ErrorCode, Turn)>;

  void Pass(const std::string& name) {
    const auto line = lines_.find(name);
    if (line->second.empty()) {
      lines_.erase(line);
      return;
    }
    Waiter next = std::move(line->second.front());
    line->second.pop_front();
    next({}, Turn(shared_from_this(), name));
  }

  void FailAll(const std::string& name, ErrorCode ec) {
    auto line = lines_.extract(name);
    for (Waiter& waiter : line.mapped()) waiter(ec, Turn());
  }

  std::unordered_map<std::string, std::deque<Waiter>> lines_;  // one for each name that is taken
};

}  // namespace stout::docstore
