#include "blowfish/server/data_id.h"

#include <fmt/format.h>

#include <filesystem>
#include <system_error>

#include "blowfish/file/atomic_file.h"
#include "resp/store/store_commands.h"
#include "stout/adapters/read_file.h"
#include "stout/adapters/store_url.h"

namespace stout::blowfish {
namespace {

std::string PathIn(const std::string& directory) { return directory + "/data-id"; }

bool IsDataId(const std::string& text) {
  return text.size() == resp::kDataIdDigits &&
         text.find_first_not_of("0123456789abcdef") == text.npos;
}

}  // namespace

Result<std::string> OpenDataId(const std::string& directory, Diagnostics* diagnostics) {
  const Result<std::string> kept = ReadFile(PathIn(directory));
  // A damaged one is replaced: stores then take the data for others, which is safe.
  if (kept && IsDataId(*kept)) return *kept;
  const std::string id = resp::DrawDataId();
  if (const auto failed = PublishText(PathIn(directory), id, diagnostics)) return failed;
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
