#include "blowfish/store/layer_filler.h"

#include <exception>
#include <new>
#include <optional>
#include <stop_token>
#include <utility>

namespace stout::blowfish {

ErrorCode LayerFiller::Begin(std::vector<NewLayers> layers) try {
  full_.reserve(layers.size());
  auto fill = [this, layers = std::move(layers)](const std::stop_token& stop) mutable {
    for (NewLayers& each : layers) {
      try {
        const std::optional<MergeSlots::Slot> slot =
            slots_ ? slots_->Take(each.bytes(), stop) : std::nullopt;
        each.Fill(stop);
      } catch (const std::bad_alloc&) {  // Reads fill the rest.
      }
      if (stop.stop_requested()) return;
      {
        const std::lock_guard lock(mutex_);
        full_.push_back(std::move(each));
      }
      wake_();
    }
  };
  thread_ = std::jthread(std::move(fill));
  return {};
} catch (const std::exception&) {  // no thread, or no memory
  return Errc::kTransient;
}

}  // namespace stout::blowfish
