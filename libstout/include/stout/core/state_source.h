#pragma once

#include <cstdint>
#include <string>

#include "stout/core/types.h"

namespace stout::inline v1 {

/// The application's answer to a request for the newest state of a key.
enum class Serialized : std::uint8_t {
  kValue,   ///< the state was written to the buffer
  kAbsent,  ///< the key no longer exists: delete it
  kFailed,  ///< the state cannot be serialised: the key is refused
};

}  // namespace stout::inline v1

namespace stout::internal {

/// The application's states, from which the core forms batches.
class StateSource {
 public:
  /// Writes the newest state of `key` into `value`. `value` is empty at the call, but may have
  /// capacity. Serialize must not call into the engine.
  virtual Serialized Serialize(KeyView key, std::string& value) noexcept = 0;

 protected:
  ~StateSource() = default;
};

}  // namespace stout::internal
