#include "shard/data_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

#include "program/options.h"
#include "shard/queries.h"

namespace stout::bench::shard {

void AddDataOptions(CLI::App& app, LineitemOptions& data, const std::string& seed_flag) {
  program::Options options(app);
  options.Bytes("--size", data.bytes, 1, std::uint64_t{1} << 38, "Size of all values together");
  options.Count(seed_flag, data.seed, 0, program::kNoMax, "The same seed gives the same records");
}

CLI::Option* AddPlacement(CLI::App& app, std::optional<Placement>& placement) {
  return program::Options(app).Read(
      "--placed-by",
      "Choose keys so that a blowfish-server with this number of shards keeps the records of a "
      "value of this attribute on one shard",
      "ATTRIBUTE:SHARDS", "",
      [](const std::string& text) { return ParsePlacement(text, Lineitem::GetSchema()); },
      "ATTRIBUTE:SHARDS, such as partkey:3",
      [&placement](const Placement& parsed) { placement = parsed; });
}

std::string IsSearchClass(const std::string& name) {
  const auto classes = SearchClasses(Lineitem::GetSchema());
  if (std::ranges::count(classes, name, &SearchClass::name) > 0) return "";
  return fmt::format("'{}' is not an attribute or mix8", name);
}

void AddDistribution(CLI::App& app, load::Distribution& distribution) {
  program::Options(app).Read(
      "--distribution",
      "How often each key, or each value that is searched for, is chosen: uniform or zipf:EXPONENT",
      "DISTRIBUTION", "uniform", load::ParseDistribution, "uniform or zipf:0.99",
      [&distribution](const load::Distribution& parsed) { distribution = parsed; });
}

}  // namespace stout::bench::shard
