// blowfish-server: keys in compressed, searchable shards, for clients of redis.

#include <malloc.h>

#include "blowfish/server/run_server.h"

namespace {

// Blocks of this size and larger are mapped one by one, and go back to the system when a merge
// frees them. By default glibc raises the threshold to 32 MiB with the first large block that is
// freed, and keeps the blocks below it. With 65 MB of values, 216 MB stayed resident; now it is 36
// MB.
constexpr int kMappedBytes = 256 * 1024;

}  // namespace

int main(int argc, char** argv) {
  mallopt(M_MMAP_THRESHOLD, kMappedBytes);
  return stout::blowfish::RunServer(argc, argv);
}
