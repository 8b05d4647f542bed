#include "lease_setup.h"

#include <fmt/format.h>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <string>
#include <utility>
#include <vector>

namespace stout::postgres {
namespace {

namespace asio = boost::asio;

// The error that stops the setup, if there is one.
struct Trouble {
  Errc errc = Errc::kOk;
  std::string why{};
};

// Without its number a deployment would grant nothing. It is not made up for here, because tables
// that lost it may have lost more.
asio::awaitable<Trouble> CheckNumber(Connection& connection, const LeaseSchema& schema,
                                     const TableNames& names) {
  const std::vector<Query> count(1, Query{&schema.has_number});
  const Outcome found = co_await connection.Run(count);
  if (found.errc != Errc::kOk) co_return Trouble{Errc::kTransient, found.message};
  if (DecodeInt8(PQgetvalue(found.results[0].get(), 0, 0)) == 1) co_return Trouble{};
  co_return Trouble{Errc::kBadUrl, WhyNumberIsLost(schema, names)};
}

asio::awaitable<Trouble> SetUp(Connection& connection, const PostgresOptions& options,
                               const LeaseSchema& schema, const TableNames& names,
                               Identity* identity) {
  const std::string wrong = WhyNoConnection(options.connection);
  if (!wrong.empty()) co_return Trouble{Errc::kBadUrl, wrong};
  const std::string refusal = co_await connection.Connect();
  if (!refusal.empty()) co_return Trouble{ClassifyRefusal(refusal), refusal};
  std::vector<Query> exist(1, Query{&schema.exists});
  for (const char* suffix : {"_number", "_members", "_ranges", "_records"}) {
    exist[0].parameters.push_back(names.With(suffix));
  }
  exist.push_back({&schema.may_identify});
  const Outcome found = co_await connection.Run(exist);
  if (found.errc != Errc::kOk) co_return Trouble{Errc::kTransient, found.message};
  const bool may_identify = DecodeInt8(PQgetvalue(found.results[1].get(), 0, 0)) == 1;
  *identity = may_identify ? Identity::kSystemAndTimeline : Identity::kTimeline;
  if (DecodeInt8(PQgetvalue(found.results[0].get(), 0, 0)) == 1) {
    co_return co_await CheckNumber(connection, schema, names);
  }
  std::string why = "create=false";
  if (options.create) {
    std::vector<Query> create;
    for (const Statement& statement : schema.create) create.push_back({&statement});
    const Outcome created = co_await connection.Run(create);
    if (created.errc == Errc::kOk) co_return Trouble{};
    if (created.errc == Errc::kUnknown) co_return Trouble{Errc::kTransient, created.message};
    why = created.message;
  }
  std::string remedy;
  for (const Statement& statement : schema.create) remedy += '\n' + statement.sql + ';';
  co_return Trouble{
      Errc::kBadUrl,
      fmt::format("tables are missing ({}); a role that may create them should run:{}", why,
                  remedy)};
}

}  // namespace

Result<Identity> SetUpLeases(const PostgresOptions& options, const LeaseSchema& schema,
                             const TableNames& names, Diagnostics* diagnostics) {
  asio::io_context context;
  Connection connection(options, options.timeout, {}, context.get_executor());
  Trouble trouble;
  Identity identity = Identity::kTimeline;
  asio::co_spawn(context, SetUp(connection, options, schema, names, &identity),
                 [&](const std::exception_ptr& thrown, Trouble result) {
                   if (thrown) std::rethrow_exception(thrown);
                   trouble = std::move(result);
                 });
  context.run();
  if (trouble.errc == Errc::kOk) return identity;
  return Fail(trouble.errc, "postgres leases: " + RedactedMessage(trouble.why, options.connection),
              diagnostics);
}

}  // namespace stout::postgres
