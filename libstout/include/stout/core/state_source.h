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

/// The application, as the core sees it while it forms a batch.
class StateSource {
 public:
  /// Writes the newest state of `key` into `value`, which is empty but keeps its capacity.
  /// Must not call back into the engine.
  virtual Serialized Serialize(KeyView key, std::string& value) noexcept = 0;

 protected:
  ~StateSource() = default;
};

}  // namespace stout::internal
