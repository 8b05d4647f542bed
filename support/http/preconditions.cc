#include "http/preconditions.h"

namespace stout::http {
namespace {

// If-Match compares strongly: a weak tag matches nothing. If-None-Match compares weakly.
enum class Comparison { kStrong, kWeak };

bool ListMatches(std::string_view list, std::string_view etag, Comparison comparison) {
  constexpr std::string_view kSeparators = " \t,";
  while (true) {
    const auto start = list.find_first_not_of(kSeparators);
    if (start == std::string_view::npos) return false;
    list.remove_prefix(start);
    if (list.front() == '*') return true;
    const bool weak = list.starts_with("W/");
    if (weak) list.remove_prefix(2);
    if (list.empty() || list.front() != '"') return false;
    const auto end = list.find('"', 1);
    if (end == std::string_view::npos) return false;
    const std::string_view tag = list.substr(0, end + 1);
    if (tag == etag && (!weak || comparison == Comparison::kWeak)) return true;
    list.remove_prefix(tag.size());
  }
}

}  // namespace

Verdict Evaluate(const Preconditions& preconditions, std::string_view etag) {
  const bool exists = !etag.empty();
  if (const auto& list = preconditions.if_match) {
    if (!exists || !ListMatches(*list, etag, Comparison::kStrong)) return Verdict::kFailed;
  }
  if (const auto& list = preconditions.if_none_match) {
    if (exists && ListMatches(*list, etag, Comparison::kWeak)) return Verdict::kUnchanged;
  }
  return Verdict::kProceed;
}

}  // namespace stout::http
