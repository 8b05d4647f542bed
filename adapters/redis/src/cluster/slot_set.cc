#include "cluster/slot_set.h"

#include <algorithm>
#include <cstddef>
#include <map>

#include "stout/core/parse_number.h"

namespace stout::redis {
namespace {

// Removes the text up to the separator from the front, and the separator.
std::string_view TakeUntil(char separator, std::string_view* text) {
  const std::string_view front = text->substr(0, text->find(separator));
  text->remove_prefix(front.size() < text->size() ? front.size() + 1 : front.size());
  return front;
}

std::optional<std::size_t> ParseSlot(std::string_view text) {
  const auto slot = internal::ParseNumber<std::size_t>(text);
  return slot && *slot < kSlots ? slot : std::nullopt;
}

// FLAG,FLAG...
bool HasFlag(std::string_view flags, std::string_view flag) {
  while (!flags.empty()) {
    if (TakeUntil(',', &flags) == flag) return true;
  }
  return false;
}

}  // namespace

std::string PrintSlots(const SlotSet& slots) {
  std::string text;
  for (std::size_t first = 0; first < kSlots; ++first) {
    if (!slots[first]) continue;
    std::size_t last = first;
    while (last + 1 < kSlots && slots[last + 1]) ++last;
    if (!text.empty()) text += ' ';
    text += std::to_string(first);
    if (last > first) text += '-' + std::to_string(last);
    first = last;
  }
  return text;
}

std::optional<SlotSet> ParseSlots(std::string_view text) {
  SlotSet slots;
  while (!text.empty()) {
    std::string_view range = TakeUntil(' ', &text);
    const auto first = ParseSlot(TakeUntil('-', &range));
    const auto last = range.empty() ? first : ParseSlot(range);
    if (!first || !last) return std::nullopt;
    for (std::size_t slot = *first; slot <= *last; ++slot) slots.set(slot);
  }
  return slots;
}

// ID ADDRESS FLAGS MASTER PING PONG EPOCH LINK SLOTS..., and behind them "[93->-NODE]" for a slot
// that moves away and "[77-<-NODE]" for one that comes.
std::optional<NodeView> ParseNodeView(std::string_view nodes) {
  while (!nodes.empty()) {
    std::string_view line = TakeUntil('\n', &nodes);
    if (line.find("myself") == line.npos) continue;
    NodeView view;
    for (int field = 0; field < 8; ++field) {
      const std::string_view text = TakeUntil(' ', &line);
      if (field == 6) view.config_epoch = text;
    }
    const std::size_t moving = line.find('[');
    std::string_view served = line.substr(0, moving);
    if (served.ends_with(' ')) served.remove_suffix(1);
    const auto settled = ParseSlots(served);
    if (!settled || view.config_epoch.empty()) return std::nullopt;
    view.settled = *settled;
    if (moving != line.npos) line.remove_prefix(moving);
    while (moving != line.npos && !line.empty()) {
      std::string_view mark = TakeUntil(' ', &line).substr(1);
      const auto slot = ParseSlot(TakeUntil('-', &mark));
      if (!slot) return std::nullopt;
      view.settled.reset(*slot);
    }
    return view;
  }
  return std::nullopt;
}

std::optional<Successors> CountSuccessors(std::string_view nodes) {
  Successors successors;
  std::map<std::string_view, std::size_t> replicas;  // by master
  bool complete = false;
  while (!nodes.empty()) {
    std::string_view line = TakeUntil('\n', &nodes);
    std::string_view flags, master;
    for (int field = 0; field < 8; ++field) {
      const std::string_view text = TakeUntil(' ', &line);
      if (field == 2) flags = text;
      if (field == 3) master = text;
    }
    complete = complete || HasFlag(flags, "myself");
    const bool replica = HasFlag(flags, "slave");
    if (replica) successors.most = std::max(successors.most, ++replicas[master]);
    if (replica || (HasFlag(flags, "fail") && line.empty())) ++successors.all;
  }
  return complete ? std::optional(successors) : std::nullopt;
}

}  // namespace stout::redis
