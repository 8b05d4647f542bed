#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace stout::blowfish {

/// How far a load is.
struct LoadProgress {
  std::uint64_t read = 0;                   ///< Bytes of the files, as they are on the disk.
  std::optional<std::uint64_t> of_bytes{};  ///< That there are; unknown where one is no file.
  std::uint64_t records = 0;                ///< Loaded.
  std::uint64_t bytes = 0;                  ///< bytes of their keys and values
  double seconds = 0;                       ///< Since the start.
};

/// "1500 records, 2.5 MB in 10.0 s: 0.3 MB/s, 150 records/s". 1 MB is 10^6 bytes.
[[nodiscard]] std::string FormatTotals(const LoadProgress& progress);

/// One line of at most 80 columns, with what is known:
///
///     [=========>          ]  47 %   12.3 MB/s  104000 records/s  0:17 left
[[nodiscard]] std::string FormatBar(const LoadProgress& progress);

}  // namespace stout::blowfish
