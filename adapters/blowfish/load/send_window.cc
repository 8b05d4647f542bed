#include "blowfish/load/send_window.h"

#include <cassert>
#include <iterator>
#include <utility>
#include <vector>

namespace stout::blowfish {
namespace {

// A guess: enough for the fastest network, and little beside what the server takes.
constexpr std::size_t kMostBytes = std::size_t{8} << 20;

}  // namespace

bool SendWindow::full() const {
  return !open_ && (commands_.size() >= options_.commands || encoded_bytes_ >= kMostBytes);
}

std::optional<std::uint64_t> SendWindow::first_line() const {
  if (commands_.empty()) return std::nullopt;
  return commands_.front().first_line();
}

void SendWindow::Add(std::string_view key, std::string_view value, std::uint64_t line) {
  assert(!full());
  if (!open_) commands_.emplace_back();
  SetCommand& command = commands_.back();
  encoded_bytes_ -= command.encoded_bytes();
  command.Add(key, value, line);
  encoded_bytes_ += command.encoded_bytes();
  open_ = command.records() < options_.batch && encoded_bytes_ < kMostBytes;
}

void SendWindow::TakeUnsent(std::size_t bytes, std::string& out) {
  if (rewinding_) return;
  const std::size_t ready = commands_.size() - (open_ ? 1 : 0);
  const std::size_t before = out.size();
  for (; sent_ < ready && out.size() - before < bytes; ++sent_, ++due_) {
    commands_[sent_].AppendTo(out);
  }
}

SendWindow::Outcome SendWindow::OnAnswer(Answer answer) {
  assert(due_ > 0);
  --due_;
  if (rewinding_) return {};
  const SetCommand& command = commands_.front();
  Outcome outcome{.line = command.first_line()};
  if (answer == Answer::kAgain) {
    GoBack();
    outcome.kind = Outcome::Kind::kAgain;
    return outcome;
  }
  if (answer == Answer::kRefused && command.records() > 1) {
    std::vector<SetCommand> singles = command.Split();
    GoBack();
    Pop();
    for (const SetCommand& single : singles) encoded_bytes_ += single.encoded_bytes();
    commands_.insert(commands_.begin(), std::make_move_iterator(singles.begin()),
                     std::make_move_iterator(singles.end()));
    outcome.kind = Outcome::Kind::kApart;
    return outcome;
  }
  outcome.kind = answer == Answer::kDone ? Outcome::Kind::kLoaded : Outcome::Kind::kRefused;
  outcome.records = command.records();
  outcome.bytes = command.bytes();
  --sent_;
  Pop();
  return outcome;
}

void SendWindow::GoBack() {
  resent_ += sent_;
  sent_ = 0;
  rewinding_ = true;
}

void SendWindow::Rewind() {
  resent_ += sent_;
  sent_ = 0;
  due_ = 0;
  rewinding_ = false;
}

void SendWindow::Pop() {
  encoded_bytes_ -= commands_.front().encoded_bytes();
  commands_.pop_front();
}

}  // namespace stout::blowfish
