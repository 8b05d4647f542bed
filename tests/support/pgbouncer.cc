#include "tests/support/pgbouncer.h"

#include <libpq-fe.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <thread>

namespace stout::test {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

constexpr char kUser[] = "postgres";  // It refuses to run as root.

}  // namespace

Pgbouncer::Pgbouncer(int server_port) {
  std::string name = (fs::temp_directory_path() / "stout-pgbouncer-XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("no temporary directory");
  directory_ = name;
  if (::geteuid() == 0) RunToEnd({"chown", kUser, name});
  // Another may take the port between our look and its own.
  for (int i = 0; i < 5; ++i) {
    port_ = FreePort();
    if (Start(server_port)) return;
  }
  std::stringstream log;
  log << std::ifstream(directory_ / "log").rdbuf();
  throw std::runtime_error("pgbouncer does not start: " + log.str());
}

Pgbouncer::~Pgbouncer() {
  process_.reset();
  std::error_code ignored;
  fs::remove_all(directory_, ignored);
}

bool Pgbouncer::Start(int server_port) {
  const fs::path settings = directory_ / "pgbouncer.ini";
  std::ofstream(settings) << "[databases]\n* = host=127.0.0.1 port=" << server_port
                          << " user=" << kUser
                          << "\n[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = " << port_
                          << "\nunix_socket_dir =\nauth_type = any\npool_mode = transaction\n"
                             "default_pool_size = 3\nmax_client_conn = 100\n";
  process_ =
      std::make_unique<Process>(std::vector<std::string>{"/usr/sbin/pgbouncer", settings.string()},
                                directory_ / "log", kUser);
  const std::string connection = "host=127.0.0.1 port=" + std::to_string(port_) + " user=" + kUser +
                                 " dbname=postgres connect_timeout=5";
  const auto deadline = std::chrono::steady_clock::now() + 10s;
  while (process_->Running() && std::chrono::steady_clock::now() < deadline) {
    PGconn* c = PQconnectdb(connection.c_str());
    const bool answers = PQstatus(c) == CONNECTION_OK;
    PQfinish(c);
    // Not that of a stranger who has the port.
    if (answers && process_->Running()) return true;
    std::this_thread::sleep_for(20ms);
  }
  process_.reset();
  return false;
}

}  // namespace stout::test
