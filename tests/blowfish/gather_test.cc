#include "blowfish/server/gather.h"

#include <string>
#include <string_view>

#include "blowfish/server/write_commands.h"
#include "tests/support/catch.h"

namespace stout::blowfish {
namespace {

// The outcome of a command at one shard.
struct Outcome {
  std::string_view error;
  bool changed = false;
};

std::string ErrorOf(const Outcome& first, const Outcome& second) {
  Batch batch(2);
  batch.requests.emplace_back();
  for (const std::size_t shard : {0, 1}) {
    const Outcome& outcome = shard == 0 ? first : second;
    Subrequest& subrequest = batch.Add(shard, 0);
    subrequest.error = outcome.error;
    subrequest.changed = outcome.changed;
  }
  resp::ScanCursors cursors;
  std::string out;
  return Gather(batch, batch.requests.front(), cursors, out).Error();
}

TEST_CASE("the error of a command reports whether nothing, a part or an unknown part was written") {
  const Outcome done{"", true};
  const Outcome idle{"", false};
  const Outcome full{WriteError(Errc::kTransient)};
  const Outcome unknown{WriteError(Errc::kUnknown)};
  const Outcome large{WriteError(Errc::kTooLarge)};
  const Outcome no_memory{kNoMemory};
  CHECK(ErrorOf(done, done).empty());
  CHECK(ErrorOf(full, full) == full.error);
  CHECK(ErrorOf(idle, full) == full.error);
  const std::string part = "MISCONF Only a part was written, because the log cannot be written";
  CHECK_THAT(ErrorOf(done, full), Catch::StartsWith(part));
  CHECK_THAT(ErrorOf(full, done), Catch::StartsWith(part));
  CHECK(ErrorOf(large, done) == std::string(large.error) + "; only a part was written");
  CHECK(ErrorOf(done, no_memory) == std::string(kNoMemory) + "; only a part was written");
  CHECK(ErrorOf(full, unknown) == unknown.error);
  CHECK(ErrorOf(unknown, full) == unknown.error);
  CHECK(ErrorOf(unknown, done) == unknown.error);
}

}  // namespace
}  // namespace stout::blowfish
