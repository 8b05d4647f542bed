#include "load/workload.h"

#include <fmt/format.h>

#include <iterator>

#include "stout/core/parse_number.h"

namespace stout::load {

void Corpus::AppendPath(SectionId id, std::string& out) const {
  fmt::format_to(std::back_inserter(out), "/docs/load-{:08}/sections/s{}", id / sections,
                 id % sections);
}

std::string Distribution::Name() const {
  return theta == 0 ? "uniform" : fmt::format("zipf:{}", theta);
}

std::optional<Distribution> ParseDistribution(std::string_view text) {
  if (text == "uniform") return Distribution{};
  constexpr std::string_view kZipf = "zipf:";
  if (!text.starts_with(kZipf)) return std::nullopt;
  text.remove_prefix(kZipf.size());
  const auto theta = internal::ParseNumber<double>(text);
  if (!theta || !(*theta > 0 && *theta <= 10)) return std::nullopt;
  return Distribution{*theta};
}

Workload::Workload(const Corpus& corpus, Distribution distribution, double read_fraction,
                   std::uint64_t seed)
    : corpus_(corpus), read_fraction_(read_fraction), random_(seed) {
  if (distribution.theta > 0) zipf_.emplace(corpus.documents, distribution.theta);
}

Workload::Choice Workload::Next() {
  const Op op = random_.Unit() < read_fraction_ ? Op::kRead : Op::kWrite;
  const std::uint32_t document =
      zipf_ ? zipf_->Draw(random_) : static_cast<std::uint32_t>(random_.Below(corpus_.documents));
  const std::uint32_t section =
      corpus_.sections == 1 ? 0 : static_cast<std::uint32_t>(random_.Below(corpus_.sections));
  return {op, document * corpus_.sections + section};
}

}  // namespace stout::load
