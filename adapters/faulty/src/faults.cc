#include "faults.h"

#include <array>
#include <utility>

namespace stout {

void FaultyStore::Faults::ScriptWrite(Fault fault) {
  const std::lock_guard lock(mutex_);
  scripted_writes_.push_back(fault);
}

void FaultyStore::Faults::ScriptRead(Fault fault) {
  const std::lock_guard lock(mutex_);
  scripted_reads_.push_back(fault);
}

Fault FaultyStore::Faults::NextWrite() { return Next(scripted_writes_, options_.writes); }
Fault FaultyStore::Faults::NextRead() { return Next(scripted_reads_, options_.reads); }

Fault FaultyStore::Faults::Next(std::deque<Fault>& scripted, const FaultRates& rates) {
  const std::lock_guard lock(mutex_);
  if (store_lost_) return Fault::kLost;
  if (scripted.empty()) return Draw(rates);
  const Fault fault = scripted.front();
  scripted.pop_front();
  store_lost_ = fault == Fault::kLost;
  return fault;
}

Fault FaultyStore::Faults::Draw(const FaultRates& rates) {
  const std::array<std::pair<double, Fault>, 8> menu = {{{rates.delay, Fault::kDelay},
                                                         {rates.fail, Fault::kFail},
                                                         {rates.lose_request, Fault::kLoseRequest},
                                                         {rates.lose_answer, Fault::kLoseAnswer},
                                                         {rates.unknown, Fault::kUnknown},
                                                         {rates.apply_late, Fault::kApplyLate},
                                                         {rates.apply_twice, Fault::kApplyTwice},
                                                         {rates.partial, Fault::kPartial}}};
  double left = Uniform();
  for (const auto& [rate, fault] : menu) {
    if (left < rate) return fault;
    left -= rate;
  }
  return Fault::kNone;
}

std::vector<ItemError> FaultyStore::Faults::LeaveOut(const WriteBatch& batch, Fault fault) {
  std::vector<ItemError> left_out;
  if (fault != Fault::kPartial && !options_.refuse) return left_out;
  const std::lock_guard lock(mutex_);
  const std::size_t count = batch.items.size();
  // One item at least fails: this one.
  const std::size_t victim = fault == Fault::kPartial && count > 0 ? random_() % count : count;
  for (std::size_t i = 0; i < count; ++i) {
    const auto index = static_cast<std::uint32_t>(i);
    if (options_.refuse && options_.refuse(batch.items[i].key)) {
      left_out.push_back({index, Errc::kRefused});
    } else if (fault == Fault::kPartial && (i == victim || Uniform() < options_.partial_share)) {
      left_out.push_back({index, Errc::kTransient});
    }
  }
  return left_out;
}

void FaultyStore::Faults::RunLater(DelayQueue::Task task) {
  Duration delay = options_.delay_min;
  if (options_.delay_max > options_.delay_min) {
    const std::lock_guard lock(mutex_);
    const auto range = static_cast<double>((options_.delay_max - options_.delay_min).count());
    delay += Duration(static_cast<Duration::rep>(Uniform() * range));
  }
  later_.Schedule(DelayQueue::Clock::now() + delay, std::move(task));
}

}  // namespace stout
