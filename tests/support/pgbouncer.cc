#include "tests/support/pgbouncer.h"

#include <fstream>

#include "tests/support/postgres_server.h"

namespace stout::test {

Pgbouncer::Pgbouncer(int server_port)
    : PrivateServer("pgbouncer", kPostgresUser), server_port_(server_port) {
  StartOnFreePort();
}

std::vector<std::string> Pgbouncer::Command() const {
  const std::string settings = directory() + "/pgbouncer.ini";
  std::ofstream(settings) << "[databases]\n* = host=127.0.0.1 port=" << server_port_
                          << " user=" << kPostgresUser
                          << "\n[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = " << port()
                          << "\nunix_socket_dir =\nauth_type = any\npool_mode = transaction\n"
                             "default_pool_size = 3\nmax_client_conn = 100\n"
                             "server_login_retry = 0.2\n";
  return {"/usr/sbin/pgbouncer", settings};
}

bool Pgbouncer::Answers() const {
  return CanConnect("host=127.0.0.1 port=" + std::to_string(port()) + " user=" + kPostgresUser +
                    " dbname=postgres connect_timeout=5");
}

}  // namespace stout::test
