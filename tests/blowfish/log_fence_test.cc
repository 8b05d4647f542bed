// The bounds of fences, and how a freeze carries them over.

#include <cerrno>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "log_store_fixture.h"
#include "tests/support/catch.h"

namespace stout::blowfish {
namespace {

using Fixture = test::LogStoreFixture;

TEST_CASE("a fence of one scope too many is refused, and those before it can be raised", "[log]") {
  Fixture f;
  f.options.max_fence_bytes = 3 * MaxOperationBytes(1, 0);
  f.Open();
  for (const char* scope : {"a", "b", "c"}) CHECK(f.Fence(scope, 1) == Errc::kOk);
  for (int life = 0; life < 2; ++life) {
    CHECK(f.Fence("d", 1) == Errc::kRefused);
    CHECK(f.Fence("a", 2 + life) == Errc::kOk);
    f.Open();
  }
}

TEST_CASE("fences under way count, too", "[log]") {
  Fixture f;
  f.options.max_fence_bytes = 3 * MaxOperationBytes(1, 0);
  f.Open();
  std::vector<ErrorCode> errors;
  const auto fence = [&](const char* scope) {
    f.store->Fence(scope, 1, [&](ErrorCode error) { errors.push_back(error); });
  };
  for (const char* scope : {"a", "b", "c"}) fence(scope);
  CHECK(errors.empty());
  fence("d");
  CHECK(errors == std::vector<ErrorCode>{Errc::kTransient});
  f.disk.errors = {.create = ENOSPC, .write = ENOSPC};
  f.Commit();
  f.disk.errors = {};
  CHECK(errors.size() == 4);
  for (const char* scope : {"d", "e", "f"}) CHECK(f.Fence(scope, 1) == Errc::kOk);
  CHECK(f.Fence("g", 1) == Errc::kRefused);
}

TEST_CASE("a fence of a scope that is too long is refused", "[log]") {
  Fixture f;
  CHECK(f.Fence(Scope(LogStore::kMaxScopeBytes, 's'), 1) == Errc::kOk);
  CHECK(f.Fence(Scope(LogStore::kMaxScopeBytes + 1, 's'), 1) == Errc::kRefused);
  CHECK(f.store->fences().size() == 1);
}

TEST_CASE("a freeze carries fences over in parts that are no larger than a batch", "[log]") {
  Fixture f;
  f.options.max_batch_bytes = 4 * MaxOperationBytes(2, 0);
  f.Open();
  for (int i = 10; i < 40; ++i) CHECK(f.Fence(std::to_string(i), i) == Errc::kOk);
  const auto fences = f.store->fences();
  std::optional<FrozenLog> frozen;
  ErrorCode failed;
  const auto freeze = [&] {
    f.store->Freeze([&](ErrorCode error, FrozenLog log) {
      failed = error;
      if (!error) frozen = std::move(log);
    });
    f.Commit();  // The rotation.
  };
  freeze();
  for (int i = 0; i < 3; ++i) f.Commit();
  CHECK_FALSE(frozen);
  SECTION("which all succeed") {
    while (!frozen && f.store->waiting_bytes() > 0) {
      CHECK(f.store->waiting_bytes() <= f.options.max_batch_bytes);
      f.Commit();
    }
  }
  SECTION("one of which fails") {
    f.disk.errors = {.create = ENOSPC, .write = ENOSPC};
    f.Commit();
    CHECK(failed == Errc::kTransient);
    f.disk.errors = {};
    freeze();
    while (!frozen && f.store->waiting_bytes() > 0) f.Commit();
  }
  REQUIRE(frozen);
  f.options.first_sequence = frozen->through + 1;
  f.Open();
  CHECK(f.store->fences() == fences);
}

}  // namespace
}  // namespace stout::blowfish
