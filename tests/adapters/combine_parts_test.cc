#include "stout/adapters/combine_parts.h"

#include <utility>

#include "tests/support/catch.h"

namespace stout::test {
namespace {

TEST_CASE("the parts of a batch as one", "[common]") {
  const std::vector<std::vector<std::uint32_t>> items = {{1, 3}, {0, 2}};
  const auto combine = [&](WriteResult a, WriteResult b) {
    return CombineParts(std::vector{std::move(a), std::move(b)}, items);
  };
  CHECK(combine({}, {}) == WriteResult{});
  CHECK(combine({Errc::kFenced, {}}, {Errc::kFenced, {}}) == WriteResult{Errc::kFenced, {}});
  CHECK(combine({Errc::kUnknown, {}}, {}) ==
        WriteResult{Errc::kOk, {{1, Errc::kUnknown}, {3, Errc::kUnknown}}});
  CHECK(combine({Errc::kTransient, {}}, {Errc::kOk, {{2, Errc::kFenced}}}) ==
        WriteResult{Errc::kOk, {{1, Errc::kTransient}, {2, Errc::kFenced}, {3, Errc::kTransient}}});
  // No item is named twice.
  CHECK(combine({Errc::kTransient, {{1, Errc::kUnknown}}}, {}) ==
        WriteResult{Errc::kOk, {{1, Errc::kUnknown}, {3, Errc::kTransient}}});
  // A batch of which no part was done has failed.
  CHECK(
      combine({Errc::kUnknown, {{3, Errc::kRefused}}}, {Errc::kTransient, {{0, Errc::kUnknown}}}) ==
      WriteResult{Errc::kUnknown,
                  {{0, Errc::kUnknown}, {2, Errc::kTransient}, {3, Errc::kRefused}}});
  // One that is fenced key by key is not fenced as a whole.
  CHECK(combine({Errc::kOk, {{1, Errc::kFenced}, {3, Errc::kFenced}}},
                {Errc::kOk, {{0, Errc::kFenced}, {2, Errc::kFenced}}})
            .batch == Errc::kOk);
}

}  // namespace
}  // namespace stout::test
