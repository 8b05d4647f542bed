#include "shard/data_options.h"

#include <cstdint>

#include "load/command_line.h"

namespace stout::bench::shard {

void AddDataOptions(CLI::App& app, LineitemOptions& data, const std::string& seed_flag) {
  app.add_option("--size", data.bytes, "Bytes of all values together")
      ->transform(CLI::AsSizeValue(false))
      ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1} << 38))
      ->default_str("64MiB");
  app.add_option(seed_flag, data.seed, "Same seed, same records")->capture_default_str();
}

void AddPlacement(CLI::App& app, std::optional<Placement>& placement) {
  AddParsed(
      app, "--placed-by",
      [](const std::string& text) { return ParsePlacement(text, Lineitem::GetSchema()); },
      [&placement](const Placement& parsed) { placement = parsed; },
      "is not ATTRIBUTE:SHARDS, such as partkey:3",
      "With keys by which a blowfish-server of so many shards has the records of a value of this "
      "attribute on one of them")
      ->type_name("ATTRIBUTE:SHARDS");
}

void AddDistribution(CLI::App& app, load::Distribution& distribution) {
  AddParsed(
      app, "--distribution", load::ParseDistribution,
      [&distribution](const load::Distribution& parsed) { distribution = parsed; },
      "is neither uniform nor zipf:0.99",
      "Of keys, and of the values searched for: uniform or zipf:EXPONENT")
      ->default_str("uniform");
}

}  // namespace stout::bench::shard
