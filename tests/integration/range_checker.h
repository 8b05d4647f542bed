#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/resp_reply.h"

namespace stout::test {

// A call of STOUT.RANGE.
struct RangeQuery {
  std::string start;
  std::string end;  // "": none
  std::size_t limit = 1000;
  bool values = true;

  [[nodiscard]] std::vector<std::string> Words() const {
    std::vector<std::string> words = {"STOUT.RANGE", start, end, "LIMIT", std::to_string(limit)};
    if (values) words.emplace_back("VALUES");
    return words;
  }
};

// Its answer. Without values, they are "".
struct RangeAnswer {
  std::string next;
  std::vector<std::pair<std::string, std::string>> keys;
};

// The states that a key may have, as far as the test knows. nullopt: it does not exist. Keys that
// are not there do not exist.
using RangeModel = std::map<std::string, std::set<std::optional<std::string>>>;

// Requires a reply without an error.
inline RangeAnswer ReadAnswer(std::string_view reply, bool values) {
  const auto text = [](std::string_view bulk) {
    const std::size_t begin = bulk.find('\n') + 1;
    return std::string(bulk.substr(begin, bulk.size() - begin - 2));
  };
  const auto parts = ElementsOf(reply);
  const auto words = ElementsOf(parts.at(1));
  RangeAnswer answer{text(parts.at(0)), {}};
  for (std::size_t i = 0; i < words.size(); i += values ? 2 : 1) {
    answer.keys.emplace_back(text(words.at(i)), values ? text(words.at(i + 1)) : "");
  }
  return answer;
}

// Returns what is wrong with an answer; "" if nothing is.
inline std::string WhyWrong(const RangeModel& model, const RangeQuery& query,
                            const RangeAnswer& answer) {
  const auto& [next, keys] = answer;
  if (keys.size() > query.limit) return "more keys than LIMIT";
  if (!next.empty() && keys.size() < query.limit) return "fewer keys than LIMIT before the end";
  const std::string& end = next.empty() ? query.end : next;
  if (!next.empty() && !query.end.empty() && next > query.end) return "next is behind the end";
  const auto inside = [&](const std::string& key) {
    return key >= query.start && (end.empty() || key < end);
  };
  std::set<std::string> seen;
  const std::string* last = nullptr;
  for (const auto& [key, value] : keys) {
    if (last != nullptr && key <= *last) return "out of order: " + key;
    last = &key;
    if (!inside(key)) return "outside: " + key;
    const auto known = model.find(key);
    if (known == model.end()) return "no such key: " + key;
    const bool fits = query.values
                          ? known->second.contains(value)
                          : known->second != std::set<std::optional<std::string>>{std::nullopt};
    if (!fits) return "a wrong value: " + key;
    seen.insert(key);
  }
  for (const auto& [key, states] : model) {
    if (inside(key) && !states.contains(std::nullopt) && !seen.contains(key))
      return "a missing key: " + key;
  }
  return {};
}

}  // namespace stout::test
