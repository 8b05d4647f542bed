#pragma once

#include <CLI/CLI.hpp>
#include <istream>
#include <vector>

namespace stout::program {

/// Reads a configuration file that is TOML or, if it begins with '{', a flat JSON object. Names are
/// those of the command line's options without the leading dashes: max-delay = "5s". An option that
/// may be given several times takes an array.
class ConfigFile : public CLI::ConfigTOML {
 public:
  [[nodiscard]] std::vector<CLI::ConfigItem> from_config(std::istream& input) const override;
};

}  // namespace stout::program
