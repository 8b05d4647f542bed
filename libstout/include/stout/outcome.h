#pragma once

#include <utility>

#include "stout/error.h"

namespace stout::internal {

/// Maps the return type R of a function to a completion: an error code, then R unless R is void or
/// an error code itself.
template <typename R>
struct Outcome {
  using Signature = void(ErrorCode, R);
  template <typename Call, typename Done>
  static void Run(Call call, Done& done) {
    done({}, call());
  }
  template <typename Done>
  static void Fail(ErrorCode ec, Done& done) {
    done(ec, R());
  }
};
template <typename R>
struct Outcome<Result<R>> : Outcome<R> {
  template <typename Call, typename Done>
  static void Run(Call call, Done& done) {
    Result<R> result = call();
    result ? done({}, std::move(*result)) : done(result.error(), R());
  }
};
template <>
struct Outcome<ErrorCode> {
  using Signature = void(ErrorCode);
  template <typename Call, typename Done>
  static void Run(Call call, Done& done) {
    done(call());
  }
  template <typename Done>
  static void Fail(ErrorCode ec, Done& done) {
    done(ec);
  }
};
template <>
struct Outcome<void> : Outcome<ErrorCode> {
  template <typename Call, typename Done>
  static void Run(Call call, Done& done) {
    call();
    done({});
  }
};
template <>
struct Outcome<Result<void>> : Outcome<ErrorCode> {
  template <typename Call, typename Done>
  static void Run(Call call, Done& done) {
    const Result<void> result = call();
    done(result ? ErrorCode() : result.error());
  }
};

}  // namespace stout::internal
