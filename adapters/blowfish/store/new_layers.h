#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <stop_token>
#include <variant>

#include "blowfish/index/block_layers.h"
#include "blowfish/index/index_layers.h"
#include "blowfish/store/succinct_store.h"

namespace stout::blowfish {

/// Layers that a file is to get. They are beside it while one thread fills them and the owner of
/// the file reads it. Then the owner puts them into the file.
///
///     NewLayers layers(store, 3);       // the owner; 3: in all
///     layers.Fill(stop);                // any thread
///     std::move(layers).Join(*store);   // the owner
///
/// Memory: all of it is taken at once, and the kernel gives it page by page when it is filled.
/// Owner: shares the file.
/// Threads: one at a time; only the owner of the file constructs it and calls Join().
/// Errors: without memory there are fewer layers. Fill() throws std::bad_alloc; what it has filled
///   until then may be used.
class NewLayers {
 public:
  /// `wanted`: the number of layers of the file in the end, or as many as it can have.
  NewLayers(std::shared_ptr<SuccinctStore> store, std::size_t wanted);

  [[nodiscard]] bool AreFor(const SuccinctStore& store) const { return store_.get() == &store; }
  /// The number of them, without those that the file has.
  [[nodiscard]] std::size_t count() const { return count_; }
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }

  /// Fills them with all records. Blocks have no room for some records. Once `stop` asks for it,
  /// returns false after about ten milliseconds of work, or after one value if that takes longer.
  /// The next call goes on from there.
  bool Fill(const std::stop_token& stop);

  /// Adds them to the layers of the file. Requires that these have not changed since. A layer that
  /// is not full serves what it has, and reads fill the rest.
  void Join(SuccinctStore& store) &&;

 private:
  using Layers = std::variant<IndexLayers, BlockLayers>;
  [[nodiscard]] static Layers NextOf(SuccinctStore& store);

  std::shared_ptr<const SuccinctStore> store_;
  Layers layers_;
  std::uint32_t next_ = 0;  // the first record that they are not filled with yet
  std::size_t count_ = 0;
  std::uint64_t bytes_ = 0;
};

}  // namespace stout::blowfish
