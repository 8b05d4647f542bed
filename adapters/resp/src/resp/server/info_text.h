#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>

#include "resp/server/ascii.h"
#include "resp/server/command.h"
#include "resp/server/command_stats.h"
#include "resp/server/service.h"

namespace stout::resp {

/// The answer of redis that clients get if they ask for its version. The commands that a program of
/// this library has match those of this version.
inline constexpr std::string_view kRedisVersion = "7.0.0";

/// The text of INFO: lines "name:value" below headings.
class InfoText {
 public:
  explicit InfoText(Arguments sections) : sections_(sections) {}

  /// Begins the section and returns true if it is asked for. `by_default`: also by an INFO without
  /// names.
  bool Section(std::string_view name, bool by_default = true) {
    const bool asked = (sections_.empty() && by_default) ||
                       std::ranges::any_of(sections_, [&](std::string_view section) {
                         return EqualIgnoringCase(section, name) ||
                                EqualIgnoringCase(section, "all") ||
                                (EqualIgnoringCase(section, "default") && by_default) ||
                                EqualIgnoringCase(section, "everything");
                       });
    if (!asked) return false;
    if (!text_.empty()) text_ += "\r\n";
    fmt::format_to(std::back_inserter(text_), "# {}\r\n", name);
    return true;
  }
  template <typename Value>
  void Line(std::string_view name, const Value& value) {
    fmt::format_to(std::back_inserter(text_), "{}:{}\r\n", name, value);
  }
  [[nodiscard]] std::string Take() { return std::move(text_); }

 private:
  Arguments sections_;
  std::string text_;
};

/// Appends the sections Server, with the program's version under `version_name`, and Clients.
void DescribeServer(const Service& service, std::string_view version_name, InfoText& text);

/// Appends the section Memory. `max_bytes`: the limit of the process; 0: it has none. Returns false
/// if it is not asked for; otherwise the program may add lines.
bool DescribeMemory(std::uint64_t max_bytes, InfoText& text);

/// Appends the section CPU.
void DescribeCpu(InfoText& text);

/// Appends the sections Replication, of a server without replicas, and Cluster.
void DescribeReplication(const Service& service, InfoText& text);

/// Appends the section Keyspace, without a line if there are no keys, as in redis.
void DescribeKeyspace(std::uint64_t keys, InfoText& text);

/// Appends the section Stats. Returns false if it is not asked for; otherwise the program may add
/// lines.
bool DescribeStats(const Service& service, InfoText& text);

/// Appends the sections Commandstats, Errorstats and Latencystats, in the form of redis 7, which
/// exporters parse.
void DescribeCommands(const CommandStats& stats, InfoText& text);

}  // namespace stout::resp
