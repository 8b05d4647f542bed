#include "url.h"

#include <fmt/format.h>

#include <string_view>

namespace stout::postgres {
namespace {

constexpr std::string_view kLibpqOptions[] = {
    "sslmode", "sslrootcert", "sslcert",  "sslkey",   "host",
    "port",    "user",        "passfile", "password", "target_session_attrs"};

std::string PercentEncode(std::string_view text) {
  std::string encoded;
  for (const char c : text) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '-' || c == '_' || c == '.';
    encoded += plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return encoded;
}

}  // namespace

std::string ConnectionOf(const StoreUrl& url, UrlOptionReader& reader) {
  if (url.authority.find('@') != url.authority.rfind('@')) {
    reader.Refuse("postgres: write @ in a user or a password as %40");
  }
  if (!url.path.empty() && !url.path.starts_with('/')) {
    reader.Refuse("postgres: write //HOST or /DATABASE behind the scheme");
  }
  std::string connection = "postgresql://" + url.authority + "/";
  if (url.path.size() > 1) connection += PercentEncode(url.path.substr(1));
  char separator = '?';
  for (const std::string_view name : kLibpqOptions) {
    std::string value;
    reader.Text(name, value);
    if (value.empty()) continue;
    connection += fmt::format("{}{}={}", separator, name, PercentEncode(value));
    separator = '&';
  }
  return connection;
}

}  // namespace stout::postgres
