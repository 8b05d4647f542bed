#include "blowfish/store/layer_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <span>
#include <string_view>

#include "blowfish/file/checksum.h"
#include "blowfish/file/file_error.h"
#include "blowfish/file/unique_fd.h"
#include "stout/adapters/read_file.h"

namespace stout::blowfish {
namespace {

constexpr std::string_view kLayersStart = "layers ";

std::string LayersPath(const std::string& directory) { return directory + "/" + kLayersName; }

std::string ChecksumLine(std::string_view above) {
  return fmt::format("checksum {:016x}\n", Checksum(std::as_bytes(std::span(above))));
}

}  // namespace

std::size_t ReadLayers(const std::string& directory) {
  const Result<std::string> all = ReadFile(LayersPath(directory));
  if (!all) return 0;
  const std::string_view text = *all;
  if (!text.starts_with(kLayersStart) || !text.ends_with('\n')) return 0;
  const std::size_t last = text.rfind('\n', text.size() - 2) + 1;  // npos + 1 is 0
  if (text.substr(last) != ChecksumLine(text.substr(0, last))) return 0;
  std::size_t layers = 0;
  const char* const number = text.data() + kLayersStart.size();
  const auto [end, failed] = std::from_chars(number, text.data() + last, layers);
  return failed == std::errc() && *end == '\n' ? layers : 0;
}

ErrorCode WriteLayers(const std::string& directory, std::size_t layers, Diagnostics* diagnostics) {
  const std::string path = LayersPath(directory);
  std::string text = fmt::format("{}{}\n", kLayersStart, layers);
  text += ChecksumLine(text);
  // It is not cut before it is written, so a full disk leaves it as it is.
  const UniqueFd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  if (!file) return FailedCall(path, "open", errno, diagnostics);
  const ssize_t written = ::write(file.get(), text.data(), text.size());
  if (written < 0) return FailedCall(path, "write", errno, diagnostics);
  // The rest did not fit. The checksum notices it.
  if (written != std::ssize(text)) return FailedCall(path, "write", ENOSPC, diagnostics);
  if (::ftruncate(file.get(), written) != 0) return FailedCall(path, "cut", errno, diagnostics);
  return {};
}

}  // namespace stout::blowfish
