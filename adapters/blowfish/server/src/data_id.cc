#include "data_id.h"

#include <fmt/format.h>

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <span>
#include <system_error>

#include "atomic_file.h"
#include "stout/adapters/store_url.h"

namespace stout::blowfish {
namespace {

constexpr std::size_t kDigits = 32;

std::string PathIn(const std::string& directory) { return directory + "/data-id"; }

bool IsDataId(const std::string& text) {
  return text.size() == kDigits && text.find_first_not_of("0123456789abcdef") == text.npos;
}

std::string Draw() {
  std::random_device random;
  std::string id;
  while (id.size() < kDigits) id += fmt::format("{:08x}", random());
  return id;
}

}  // namespace

Result<std::string> OpenDataId(const std::string& directory, Diagnostics* diagnostics) {
  std::ifstream file(PathIn(directory));
  std::string id{std::istreambuf_iterator<char>(file), {}};
  // A damaged one is replaced: stores then take the data for others, which is safe.
  if (IsDataId(id)) return id;
  id = Draw();
  auto made = AtomicFile::Create(PathIn(directory), diagnostics);
  if (!made) return made.error();
  if (const auto failed = made->WriteAt(0, std::as_bytes(std::span(id)), diagnostics)) {
    return failed;
  }
  if (const auto failed = made->Publish(diagnostics)) return failed;
  return id;
}

ErrorCode RemoveDataId(const std::string& directory, Diagnostics* diagnostics) {
  std::error_code failed;
  std::filesystem::remove(PathIn(directory), failed);
  if (!failed) return {};
  return Fail(Errc::kBadUrl,
              fmt::format("{}: cannot be removed: {}", PathIn(directory), failed.message()),
              diagnostics);
}

}  // namespace stout::blowfish
