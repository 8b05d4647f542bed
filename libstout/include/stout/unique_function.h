#pragma once

#include <cstddef>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

#include "stout/require.h"

namespace stout::inline v1 {

/// A callable that can be moved but not copied. Up to 64 bytes, it does not allocate.
///
/// It replaces std::move_only_function of C++23. A call of an empty one aborts with one line.
template <typename Signature>
class UniqueFunction;

template <typename R, typename... Args>
class UniqueFunction<R(Args...)> {
 public:
  UniqueFunction() = default;
  template <typename F>
  requires(!std::is_same_v<std::decay_t<F>, UniqueFunction> &&
           std::is_invocable_r_v<R, std::decay_t<F>&, Args...>)
      UniqueFunction(F&& f) {  // NOLINT(google-explicit-constructor): a lambda is a function
    using Callable = std::decay_t<F>;
    if constexpr (kFitsInline<Callable>) {
      ::new (storage_) Callable(std::forward<F>(f));
      ops_ = &kInlineOps<Callable>;
    } else {
      ::new (storage_) Callable*(new Callable(std::forward<F>(f)));
      ops_ = &kHeapOps<Callable>;
    }
  }
  UniqueFunction(UniqueFunction&& other) noexcept { TakeFrom(other); }
  UniqueFunction& operator=(UniqueFunction&& other) noexcept {
    if (this != &other) {
      Reset();
      TakeFrom(other);
    }
    return *this;
  }
  ~UniqueFunction() { Reset(); }

  explicit operator bool() const { return ops_ != nullptr; }
  R operator()(Args... args) {
    internal::Require(ops_ != nullptr, "an empty UniqueFunction is called: pass a handler");
    return ops_->call(storage_, std::forward<Args>(args)...);
  }

 private:
  struct Ops {
    R (*call)(void*, Args&&...);
    void (*move)(void* from, void* to) noexcept;
    void (*destroy)(void*) noexcept;
  };
  static constexpr std::size_t kInlineBytes = 64;
  template <typename F>
  static constexpr bool kFitsInline =
      sizeof(F) <= kInlineBytes &&
      alignof(F) <= alignof(std::max_align_t) && std::is_nothrow_move_constructible_v<F>;

  template <typename F>
  static constexpr Ops kInlineOps = {
      [](void* p, Args&&... args) -> R {
        return static_cast<R>((*static_cast<F*>(p))(std::forward<Args>(args)...));
      },
      [](void* from, void* to) noexcept {
        ::new (to) F(std::move(*static_cast<F*>(from)));
        static_cast<F*>(from)->~F();
      },
      [](void* p) noexcept { static_cast<F*>(p)->~F(); }};
  template <typename F>
  static constexpr Ops kHeapOps = {
      [](void* p, Args&&... args) -> R {
        return static_cast<R>((**static_cast<F**>(p))(std::forward<Args>(args)...));
      },
      [](void* from, void* to) noexcept { ::new (to) F*(*static_cast<F**>(from)); },
      [](void* p) noexcept { delete *static_cast<F**>(p); }};

  void TakeFrom(UniqueFunction& other) noexcept {
    ops_ = std::exchange(other.ops_, nullptr);
    if (ops_ != nullptr) ops_->move(other.storage_, storage_);
  }
  void Reset() noexcept {
    if (ops_ != nullptr) std::exchange(ops_, nullptr)->destroy(storage_);
  }

  alignas(std::max_align_t) std::byte storage_[kInlineBytes];
  const Ops* ops_ = nullptr;
};

}  // namespace stout::inline v1
