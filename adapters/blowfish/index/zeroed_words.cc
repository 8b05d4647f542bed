#include "blowfish/index/zeroed_words.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <new>

namespace stout::blowfish {
namespace {

constexpr std::size_t kHugePage = std::size_t{2} << 20;

std::size_t ToWholePages(std::size_t bytes) {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  return (bytes + page - 1) / page * page;
}

void* Map(std::size_t bytes) {
  void* const mapped =
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) return nullptr;
#ifdef MADV_HUGEPAGE
  if (bytes >= kHugePage) (void)madvise(mapped, bytes, MADV_HUGEPAGE);  // Advice: it may fail.
#endif
  return mapped;
}

}  // namespace

ZeroedWords::ZeroedWords(std::size_t size) {
  if (size == 0) return;
  std::size_t bytes = size * sizeof(std::uint64_t);
  void* memory;
  if (bytes >= kMapFrom) {
    bytes = ToWholePages(bytes);
    memory = Map(bytes);
  } else {
    memory = std::calloc(size, sizeof(std::uint64_t));
  }
  if (memory == nullptr) throw std::bad_alloc();
  words_ = Words(static_cast<std::uint64_t*>(memory), Free{bytes});
}

void ZeroedWords::Free::operator()(std::uint64_t* words) const {
  if (bytes >= kMapFrom) {
    munmap(words, bytes);
  } else {
    std::free(words);
  }
}

}  // namespace stout::blowfish
