#pragma once

#include <atomic>
#include <boost/asio/thread_pool.hpp>
#include <memory>
#include <string>
#include <vector>

#include "lease_test_support.h"
#include "stout/adapters/open_lease_service.h"
#include "tests/network/tcp_proxy.h"
#include "tests/support/type_list.h"
#ifdef STOUT_HAS_POSTGRES
#include "tests/support/postgres_server.h"
#endif
#ifdef STOUT_HAS_ETCD
#include "base64.h"
#include "tests/support/etcd_server.h"
#endif

namespace stout::test {

inline std::unique_ptr<LeaseService> OpenNow(const std::string& url,
                                             const boost::asio::any_io_executor& executor) {
  Diagnostics why;
  auto service = OpenLeaseService(url, executor, &why);
  INFO(why.message);
  REQUIRE(service);
  return *std::move(service);
}

// A deployment of its own for each test case.
inline std::string FreshName() {
  static std::atomic<int> next{0};
  return "deployment_" + std::to_string(++next);
}

class InProcess {
 public:
  // As one of two servers of the deployment sees the service.
  LeaseService& first() { return *service_; }
  LeaseService& second() { return *service_; }

 private:
  boost::asio::thread_pool pool_{2};
  std::unique_ptr<LeaseService> service_ = OpenNow("in-process:", pool_.get_executor());
};

#ifdef STOUT_HAS_POSTGRES
class Postgres {
 public:
  LeaseService& first() { return *first_; }
  LeaseService& second() { return *second_; }

  static PostgresServer& server() {
    static PostgresServer server;
    return server;
  }
  static std::string Url(const std::string& name, int port) {
    return server().Url("poll=20ms&timeout=1s&connect_timeout=1s&lease_table=" + name, port);
  }
  // Writes a record as no registry would.
  void PutRaw(const std::string& key, const std::string& text) {
    server().Execute("WITH n AS (UPDATE " + name_ + "_number SET next = next + 1 RETURNING next) " +
                     "INSERT INTO " + name_ + "_records SELECT '" + key + "', '" + text +
                     "', next FROM n ON CONFLICT (key) DO UPDATE SET value = excluded.value, " +
                     "revision = excluded.revision");
  }
  [[nodiscard]] std::string Shown(const std::string& key) const {
    return "row '" + key + "' of table " + name_ + "_records";
  }

 private:
  boost::asio::thread_pool pool_{2};
  const std::string name_ = FreshName();
  const std::string url_ = Url(name_, server().port());
  std::unique_ptr<LeaseService> first_ = OpenNow(url_, pool_.get_executor());
  std::unique_ptr<LeaseService> second_ = OpenNow(url_, pool_.get_executor());
};
#define STOUT_TEST_POSTGRES , Postgres
#else
#define STOUT_TEST_POSTGRES
#endif

#ifdef STOUT_HAS_ETCD
class Etcd {
 public:
  LeaseService& first() { return *first_; }
  LeaseService& second() { return *second_; }

  static EtcdServer& server() {
    static EtcdServer server;
    return server;
  }
  static std::string Url(const std::string& name, int port) {
    return "etcd://127.0.0.1:" + std::to_string(port) + "/" + name + "?timeout=1s&silence=1s";
  }
  // Writes a record as no registry would.
  void PutRaw(const std::string& key, const std::string& text) {
    server().Call("/v3/kv/put", R"({"key": ")" + etcd::EncodeBase64(name_ + "/" + key) +
                                    R"(", "value": ")" + etcd::EncodeBase64(text) + R"("})");
  }
  [[nodiscard]] std::string Shown(const std::string& key) const {
    return "etcd key '" + name_ + "/" + key + "'";
  }

 private:
  boost::asio::thread_pool pool_{2};
  const std::string name_ = FreshName();
  const std::string url_ = Url(name_, server().port());
  std::unique_ptr<LeaseService> first_ = OpenNow(url_, pool_.get_executor());
  std::unique_ptr<LeaseService> second_ = OpenNow(url_, pool_.get_executor());
};
#define STOUT_TEST_ETCD , Etcd
#else
#define STOUT_TEST_ETCD
#endif

// For TEMPLATE_TEST_CASE, which names its cases after the types.
#define STOUT_TEST_ALL_SERVICES InProcess STOUT_TEST_POSTGRES STOUT_TEST_ETCD
#if defined(STOUT_HAS_POSTGRES) || defined(STOUT_HAS_ETCD)
#define STOUT_TEST_REMOTE_SERVICES STOUT_TEST_TYPES(void STOUT_TEST_POSTGRES STOUT_TEST_ETCD)
#endif

// One server's way to the service, through a network that is as bad as asked for.
template <typename Remote>
class Far {
 public:
  TcpProxy proxy{Remote::server().port()};
  const std::string name = FreshName();
  boost::asio::thread_pool pool{2};
  std::unique_ptr<LeaseService> service =
      OpenNow(Remote::Url(name, proxy.port()), pool.get_executor());
  // Another's, which is good.
  std::unique_ptr<LeaseService> near =
      OpenNow(Remote::Url(name, Remote::server().port()), pool.get_executor());
};

}  // namespace stout::test
