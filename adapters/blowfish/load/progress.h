#pragma once

#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <string_view>

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

/// Shows a load's progress to those who look at `to`: on a terminal a bar that moves, otherwise a
/// line now and then. Other lines go through it too, so that they do not end up in the bar.
class ProgressDisplay {
 public:
  /// Owner: `to` must outlive it. `shown`: false: only what is printed appears.
  ProgressDisplay(std::FILE* to, bool shown);
  ProgressDisplay(const ProgressDisplay&) = delete;
  ProgressDisplay& operator=(const ProgressDisplay&) = delete;
  ~ProgressDisplay() { Clear(); }

  /// To be called every interval().
  void Show(const LoadProgress& progress);
  /// Seconds.
  [[nodiscard]] double interval() const { return terminal_ ? 0.2 : 5.0; }
  void Print(std::string_view line);
  /// Takes the bar away.
  void Clear();

 private:
  std::FILE* const to_;
  const bool shown_;
  const bool terminal_;
  bool bar_ = false;  // There is one.
};

}  // namespace stout::blowfish
