#include "blowfish/store/layer_filler.h"

#include <exception>
#include <new>
#include <optional>
#include <stop_token>
#include <utility>

namespace stout::blowfish {

ErrorCode LayerFiller::Begin(std::vector<NewLayers> layers) try {
  full_.reserve(layers.size());
  layers_ = std::move(layers);
  thread_ = std::jthread([this](const std::stop_token& stop) { Fill(stop); });
  return {};
} catch (const std::exception&) {  // no thread, or no memory
  layers_.clear();
  return Errc::kTransient;
}

void LayerFiller::Fill(const std::stop_token& stop) {
  for (; !layers_.empty(); layers_.pop_back()) {
    NewLayers& last = layers_.back();
    try {
      const std::optional<MergeSlots::Slot> slot =
          slots_ ? slots_->Take(last.bytes(), stop) : std::nullopt;
      if (!last.Fill(stop)) return;
    } catch (const std::bad_alloc&) {  // Reads fill the rest.
    }
    {
      const std::lock_guard lock(mutex_);
      full_.push_back(std::move(last));
    }
    wake_();
  }
}

}  // namespace stout::blowfish
