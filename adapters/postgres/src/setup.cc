#include "setup.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <array>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "connection.h"
#include "rows.h"

namespace stout::postgres {
namespace {

constexpr int kOldestServer = 140000;
constexpr int kTextFormat = 0;

std::string_view TypeName(unsigned oid) {
  switch (static_cast<Type>(oid)) {
    case Type::kBytea:
      return "bytea";
    case Type::kInt8:
      return "int8";
    case Type::kText:
      return "text";
    case Type::kByteaArray:
      return "bytea[]";
    case Type::kInt8Array:
      return "int8[]";
  }
  return "another type";
}

// Runs the checks one after the other; the first that fails says why.
class SettingUp {
 public:
  SettingUp(const PostgresOptions& options, const Schema& schema, Diagnostics* diagnostics)
      : options_(options), schema_(schema), diagnostics_(diagnostics) {}

  Result<Server> Run() {
    if (const ErrorCode error = CheckOptions()) return error;
    if (const ErrorCode error = Connect()) return error;
    if (const ErrorCode error = CheckPrimary()) return error;
    if (const ErrorCode error = CheckVersion()) return error;
    if (const ErrorCode error = CreateTables()) return error;
    for (const Statement* statement : schema_.statements()) {
      if (const ErrorCode error = Check(*statement)) return error;
    }
    if (!schema_.own) {
      if (const ErrorCode error = CheckRoundTrip()) return error;
    }
    const ResultPtr durable = Execute(
        "SELECT current_setting('fsync') = 'on' AND "
        "current_setting('synchronous_commit') <> 'off'");
    // A pooler has numbers of its own, for cancelling.
    const ResultPtr session = Execute("SELECT pg_backend_pid()");
    return Server{.durable = TextOf(durable) == "t",
                  .pooled = TextOf(session) != std::to_string(PQbackendPID(connection_.get()))};
  }

 private:
  ErrorCode CheckOptions() {
    std::string_view wrong;
    if (options_.connections < 1) wrong = "connections must be at least 1";
    if (options_.read_connections < 1) wrong = "read_connections must be at least 1";
    if (options_.max_queue < 1) wrong = "max_queue must be at least 1";
    if (options_.timeout <= Duration::zero()) wrong = "timeout must be positive";
    if (options_.lock_timeout <= Duration::zero()) wrong = "lock_timeout must be positive";
    if (options_.connect_timeout <= Duration::zero()) wrong = "connect_timeout must be positive";
    if (options_.tombstone_ttl < Duration::zero()) wrong = "tombstone_ttl must not be negative";
    if (schema_.upsert.sql.empty() || schema_.select.sql.empty() ||
        (!schema_.own && schema_.remove.sql.empty())) {
      wrong = "templates needs all three statements";
    }
    return wrong.empty() ? ErrorCode()
                         : Fail(Errc::kBadUrl, fmt::format("postgres: {}", wrong), diagnostics_);
  }

  ErrorCode Connect() {
    const std::string wrong = WhyNoConnection(options_.connection);
    if (!wrong.empty()) return Refuse(Errc::kBadUrl, wrong);
    ConnectTo(Target::kByLogin);
    std::string why = ErrorOf();
    if (FoundNoPrimary(why)) {
      ConnectTo(Target::kByQuestion);
      why = ErrorOf();
    }
    if (PQstatus(connection_.get()) == CONNECTION_OK) return {};
    return Refuse(ClassifyRefusal(why), why);
  }

  // libpq may repeat parts of the connection string.
  ErrorCode Refuse(Errc errc, const std::string& why) {
    return Fail(errc, "postgres: " + RedactedMessage(why, options_.connection), diagnostics_);
  }

  void ConnectTo(Target target) {
    const ConnectionParameters parameters(options_, target);
    connection_.reset(PQconnectdbParams(parameters.keywords(), parameters.values(), 1));
    PQsetNoticeProcessor(
        connection_.get(), [](void*, const char*) {}, nullptr);
  }

  ErrorCode CheckPrimary() {
    const ResultPtr recovery = Execute("SELECT pg_is_in_recovery()");
    if (TextOf(recovery) == "f") return {};
    return Fail(Errc::kTransient, "postgres: the server is a standby", diagnostics_);
  }

  ErrorCode CheckVersion() {
    const int version = PQserverVersion(connection_.get());
    if (version >= kOldestServer) return {};
    return Fail(Errc::kBadUrl,
                fmt::format("postgres: the server has version {}; version 14 or newer is required",
                            version / 10000),
                diagnostics_);
  }

  ErrorCode CreateTables() {
    std::string missing;
    if (!Exists(schema_.fence_table)) missing = schema_.fence_table;
    if (!Exists(schema_.epoch_table)) missing = schema_.epoch_table;
    if (schema_.own && !Exists(schema_.table)) missing = schema_.table;
    if (missing.empty()) return CheckEpoch();
    std::string why = "create=false";
    if (options_.create) {
      // One at a time: IF NOT EXISTS does not keep two from creating the same.
      const ResultPtr result = Execute(
          "BEGIN; SET LOCAL lock_timeout = '10s'; "
          "SELECT pg_advisory_xact_lock(7305241); " +
          schema_.create + "COMMIT");
      if (PQresultStatus(result.get()) == PGRES_COMMAND_OK) return {};
      why = ErrorOf();
      (void)Execute("ROLLBACK");
    }
    return Fail(
        Errc::kBadUrl,
        fmt::format("postgres: table {} is missing ({}); a role that may create it should run:\n{}",
                    missing, why, schema_.create),
        diagnostics_);
  }

  ErrorCode CheckEpoch() {
    const ResultPtr rows = Execute("SELECT count(*) FROM " + schema_.epoch_table);
    if (TextOf(rows) == "1") return {};
    return Fail(Errc::kBadUrl,
                fmt::format("postgres: {} must have one row; run:\n{}", schema_.epoch_table,
                            schema_.epoch_row),
                diagnostics_);
  }

  bool Exists(const std::string& table) {
    const char* value = table.c_str();
    const ResultPtr result(PQexecParams(connection_.get(), "SELECT to_regclass($1) IS NOT NULL", 1,
                                        nullptr, &value, nullptr, nullptr, kTextFormat));
    return TextOf(result) == "t";
  }

  // In one transaction: behind a pooler each has a server of its own.
  ErrorCode Check(const Statement& statement) {
    (void)Execute("BEGIN");
    const ErrorCode error = CheckPrepared(statement);
    (void)Execute("ROLLBACK");
    return error;
  }

  ErrorCode CheckPrepared(const Statement& statement) {
    const ResultPtr prepared(PQprepare(connection_.get(), "", statement.sql.c_str(), 0, nullptr));
    if (PQresultStatus(prepared.get()) != PGRES_COMMAND_OK) return Misfit(statement, ErrorOf());
    const ResultPtr described(PQdescribePrepared(connection_.get(), ""));
    if (PQresultStatus(described.get()) != PGRES_COMMAND_OK) return Misfit(statement, ErrorOf());
    const auto given = static_cast<std::size_t>(PQnparams(described.get()));
    if (given != statement.parameters.size()) {
      return Misfit(statement, fmt::format("it has {} parameters instead of {}", given,
                                           statement.parameters.size()));
    }
    for (std::size_t i = 0; i < given; ++i) {
      const Oid type = PQparamtype(described.get(), static_cast<int>(i));
      if (type != static_cast<Oid>(statement.parameters[i])) {
        return Misfit(statement,
                      fmt::format("${} is {} instead of {}: write ${}::{}", i + 1, TypeName(type),
                                  TypeName(static_cast<Oid>(statement.parameters[i])), i + 1,
                                  TypeName(static_cast<Oid>(statement.parameters[i]))));
      }
    }
    return &statement == &schema_.select ? CheckColumns(described) : ErrorCode();
  }

  ErrorCode CheckColumns(const ResultPtr& described) {
    constexpr std::array<Type, 4> kColumns = {Type::kBytea, Type::kBytea, Type::kInt8, Type::kInt8};
    const int wanted = schema_.compares_stamps ? 4 : 2;
    if (PQnfields(described.get()) != wanted) {
      return Misfit(schema_.select, fmt::format("it has {} columns instead of {}",
                                                PQnfields(described.get()), wanted));
    }
    for (int i = 0; i < wanted; ++i) {
      const Type type = kColumns[static_cast<std::size_t>(i)];
      if (PQftype(described.get(), i) == static_cast<Oid>(type)) continue;
      return Misfit(schema_.select,
                    fmt::format("column {} is {} instead of {}", PQfname(described.get(), i),
                                TypeName(PQftype(described.get(), i)),
                                TypeName(static_cast<unsigned>(type))));
    }
    return {};
  }

  // The outcome of a trial row.
  struct Trial {
    enum End { kKept, kRefused, kWrong };

    End end;
    std::string why = {};  // Unless kKept.
  };

  // The user's statements may take a value and keep another: v::text stores "\\x53".
  ErrorCode CheckRoundTrip() {
    std::string refusal;
    for (const std::string& key : TrialKeys()) {
      for (const std::string& value : TrialValues()) {
        (void)Execute(
            "BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL lock_timeout = '1s'; SAVEPOINT trial");
        const Trial trial = Try(key, value);
        (void)Execute("ROLLBACK");
        if (trial.end == Trial::kKept && options_.expiry && value != TrialValues().front()) {
          return Fail(Errc::kBadUrl,
                      fmt::format("postgres: expiry=true needs templates that take any bytes as a "
                                  "value, for example into a column bytea: {}",
                                  refusal),
                      diagnostics_);
        }
        if (trial.end == Trial::kKept) return {};
        if (trial.end == Trial::kWrong) {
          return Fail(
              Errc::kBadUrl,
              fmt::format("postgres: templates= does not return the stored state: {}; upsert and "
                          "select must be the inverse of each other, for a text column "
                          "convert_from(v, 'UTF8') and convert_to(column, 'UTF8'), not v::text",
                          trial.why),
              diagnostics_);
        }
        refusal = trial.why;
      }
    }
    spdlog::warn(
        "postgres: templates= could not be checked: its tables accept no trial row (the last "
        "reason: "
        "{}). "
        "If select does not return what upsert wrote, or remove does not remove it, states are "
        "changed or lost without an error. Write, read and remove one of your own states through "
        "these statements before you rely on them",
        refusal.substr(0, refusal.find('\n')));
    return {};
  }

  // A text, a number that has the form of no date, and a uuid.
  static std::array<std::string, 3> TrialKeys() {
    std::random_device random;
    const unsigned number = 0x40000000U | (random() & 0x3fffffffU);
    return {fmt::format(R"(libstout\trial-{:08x})", random()),
            std::to_string(number / 100 * 100 - 1),
            fmt::format("{:08x}-0000-4000-8000-0000{:08x}", random(), random())};
  }

  static constexpr std::string_view kTrialNumber = "1234";

  // Every byte, a text, a document of JSON, and a number that most types of numbers hold.
  static std::array<std::string, 4> TrialValues() {
    std::string bytes;
    for (int byte = 0; byte < 256; ++byte) bytes += static_cast<char>(byte);
    return {bytes, "\\x53 \u00e9", "{\"libstout\": \"\\\\x53 \u00e9\"}", std::string(kTrialNumber)};
  }

  Trial Try(const std::string& key, const std::string& value) {
    // The row of an application could have references to it.
    ResultPtr found = Selected(key);
    if (PQntuples(found.get()) > 0 && Field(found, 0) == key) {
      return {Trial::kRefused, fmt::format("key {} is there already", key)};
    }
    (void)Execute("ROLLBACK TO trial");
    WriteItem item{.key = key, .value = value, .version = 1};
    if (!Written(item, [](const EncodedBatch& batch) { return batch.Whole(batch.upserts); })) {
      return {Trial::kRefused, ErrorOf()};
    }
    found = Selected(key);
    if (PQresultStatus(found.get()) != PGRES_TUPLES_OK) {
      return {Trial::kWrong, "select fails: " + ErrorOf()};
    }
    if (PQntuples(found.get()) != 1 || Field(found, 0) != key) {
      return {Trial::kWrong, "select does not find the key that upsert wrote"};
    }
    if (PQgetisnull(found.get(), 0, 1) != 0 || !Same(Field(found, 1), value)) {
      // Not all that takes a number is one: the interval 1234 is 00:20:34.
      return {value == kTrialNumber ? Trial::kRefused : Trial::kWrong,
              "select returns another value than upsert wrote"};
    }
    if (schema_.compares_stamps && (Field(found, 2) != Int8(1) || Field(found, 3) != Int8(1))) {
      return {Trial::kWrong, "select returns another epoch or version than upsert wrote"};
    }
    item.kind = WriteKind::kDelete;
    item.version = 2;
    if (!Written(item, [](const EncodedBatch& batch) { return batch.Whole(batch.removes); })) {
      return {Trial::kWrong, "remove fails: " + ErrorOf()};
    }
    found = Selected(key);
    const bool gone = PQntuples(found.get()) == 0 || PQgetisnull(found.get(), 0, 1) != 0;
    if (!gone) return {Trial::kWrong, "select still finds the key that remove was given"};
    return {Trial::kKept};
  }

  // Equal bytes, or equal as JSON: jsonb has blanks of its own, and numeric(9, 2) makes 1.00 of 1.
  bool Same(std::string_view kept, const std::string& value) {
    if (kept == value) return true;
    const Statement equal{
        "",
        "SELECT WHERE convert_from($1, 'UTF8')::jsonb = convert_from($2, 'UTF8')::jsonb",
        {Type::kBytea, Type::kBytea}};
    return PQntuples(Execute(Query{&equal, {std::string(kept), value}}).get()) == 1;
  }

  template <typename QueryOf>
  bool Written(const WriteItem& item, QueryOf query_of) {
    WriteBatch batch;
    batch.epoch = 1;
    batch.items.push_back(item);
    const ResultPtr result = Execute(query_of(EncodedBatch(batch, schema_)));
    const ExecStatusType status = PQresultStatus(result.get());
    return status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK;
  }

  ResultPtr Selected(const std::string& key) {
    Array keys(Type::kBytea);
    keys.Add(key);
    return Execute(Query{&schema_.select, {keys.Slice(0, 1)}});
  }

  static std::string_view Field(const ResultPtr& rows, int column) {
    return {PQgetvalue(rows.get(), 0, column),
            static_cast<std::size_t>(PQgetlength(rows.get(), 0, column))};
  }

  ResultPtr Execute(const Query& query) {
    constexpr int kBinaryFormat = 1;
    std::vector<Oid> types;
    std::vector<const char*> values;
    std::vector<int> lengths;
    for (std::size_t i = 0; i < query.parameters.size(); ++i) {
      types.push_back(static_cast<Oid>(query.statement->parameters[i]));
      values.push_back(query.parameters[i].data());
      lengths.push_back(static_cast<int>(query.parameters[i].size()));
    }
    const std::vector<int> formats(values.size(), kBinaryFormat);
    return ResultPtr(PQexecParams(connection_.get(), query.statement->sql.c_str(),
                                  static_cast<int>(values.size()), types.data(), values.data(),
                                  lengths.data(), formats.data(), kBinaryFormat));
  }

  ErrorCode Misfit(const Statement& statement, const std::string& why) {
    return Fail(Errc::kBadUrl,
                fmt::format("postgres: statement {}: {}\n{}", statement.name, why, statement.sql),
                diagnostics_);
  }

  ResultPtr Execute(const std::string& sql) {
    return ResultPtr(PQexec(connection_.get(), sql.c_str()));
  }
  static std::string_view TextOf(const ResultPtr& result) {
    return PQntuples(result.get()) == 1 ? PQgetvalue(result.get(), 0, 0) : "";
  }
  std::string ErrorOf() const {
    std::string why = PQerrorMessage(connection_.get());
    while (!why.empty() && why.back() == '\n') why.pop_back();
    return why;
  }

  const PostgresOptions& options_;
  const Schema& schema_;
  Diagnostics* diagnostics_;
  ConnectionPtr connection_;
};

}  // namespace

Result<Server> SetUp(const PostgresOptions& options, const Schema& schema,
                     Diagnostics* diagnostics) {
  return SettingUp(options, schema, diagnostics).Run();
}

}  // namespace stout::postgres
