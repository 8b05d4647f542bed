#include "blowfish/file/file_error.h"

#include <fmt/format.h>

#include <cerrno>
#include <system_error>

#include "stout/adapters/store_url.h"

namespace stout::blowfish {
namespace {

struct Advice {
  Errc errc;
  std::string_view remedy;
};

Advice AdviceOn(int error, std::string_view verb) {
  switch (error) {
    case ENOENT:
      return {Errc::kBadUrl, verb == "create"
                                 ? "check the path; missing directories are not created"
                                 : "check the path"};
    case ENOTDIR:
      return {Errc::kBadUrl, "a part of the path is not a directory; use another path"};
    case EISDIR:
      return {Errc::kBadUrl, "name a file in it"};
    case EACCES:
    case EPERM:
      return {Errc::kBadUrl, "give this user the right to it and to its directory"};
    case EROFS:
      return {Errc::kBadUrl, "use a path on a file system that can be written"};
    case ENAMETOOLONG:
    case ELOOP:
    case EINVAL:
      return {Errc::kBadUrl, "use another path"};
    case ENOSPC:
      return {Errc::kTransient, "make room on its disk"};
    case EDQUOT:
      return {Errc::kTransient, "raise this user's quota of its disk"};
    case EFBIG:
      return {Errc::kTransient, "raise the limit of a file's size (ulimit -f)"};
    case EMFILE:
    case ENFILE:
      return {Errc::kTransient, "raise the limit of open files (ulimit -n)"};
    case ENOMEM:
      return {Errc::kTransient, "free memory, or raise its limit (ulimit -v, vm.max_map_count)"};
    default:
      return {Errc::kTransient, "see the system's log"};
  }
}

}  // namespace

ErrorCode FailedCall(const std::string& path, std::string_view verb, int error,
                     Diagnostics* diagnostics) {
  const Advice advice = AdviceOn(error, verb);
  return Fail(advice.errc,
              fmt::format("{}: cannot {}: {}; {}", path, verb,
                          std::generic_category().message(error), advice.remedy),
              diagnostics);
}

}  // namespace stout::blowfish
