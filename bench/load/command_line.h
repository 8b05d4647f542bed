#pragma once

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "program/exit_code.h"
#include "program/options.h"

namespace stout::bench {

using program::ExitCode;
using enum program::ExitCode;

/// A store to measure against, and its name in tables and files.
struct StoreChoice {
  std::string name;
  std::string url;
};

/// Adds --json FILE, for the results.
void AddJson(CLI::App& app, std::string& file);

/// Reads `NAME=URL` texts, or URLs, which get the name of their scheme. Returns false if a name
/// does not suit a file name; the problem has then been reported on stderr, with the name of
/// `program`.
[[nodiscard]] bool ReadStores(std::string_view program, const std::vector<std::string>& texts,
                              std::vector<StoreChoice>& stores);

/// Adds a list of numbers, separated by commas.
template <typename Number>
void AddList(CLI::App& app, const std::string& flag, std::vector<Number>& list, double min,
             const std::string& help) {
  app.add_option(flag, list, help)
      ->delimiter(',')
      ->check(program::NumberIn(min, 1e9))
      ->type_name("N,...")
      ->capture_default_str();
}

}  // namespace stout::bench
