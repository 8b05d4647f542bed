#pragma once

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "stout/core/types.h"

namespace stout::bench {

/// A store to measure against, and what tables and files call it.
struct StoreChoice {
  std::string name;
  std::string url;
};

enum ExitCode : int { kOk = 0, kFailed = 1, kBadOptions = 2, kInterrupted = 130 };

/// Reads `NAME=URL`, or a URL, which is named after its scheme, each; of names that would not do as
/// part of a file's name it complains to stderr, as `program`. False: it has.
[[nodiscard]] bool ReadStores(std::string_view program, const std::vector<std::string>& texts,
                              std::vector<StoreChoice>& stores);

/// A positive duration with a unit.
void AddDuration(CLI::App& app, const std::string& flag, Duration& value, const std::string& help);

/// CLI::Range lets "nan" pass. Empty if all is well.
[[nodiscard]] std::string IsNumber(const std::string& text);

/// Numbers separated by commas.
template <typename Number>
void AddList(CLI::App& app, const std::string& flag, std::vector<Number>& list, double min,
             const std::string& help) {
  app.add_option(flag, list, help)
      ->delimiter(',')
      ->check(CLI::Range(min, 1e9, fmt::format("at least {}", min)))
      ->check(CLI::Validator(IsNumber, ""))
      ->type_name("N,...")
      ->capture_default_str();
}

}  // namespace stout::bench
