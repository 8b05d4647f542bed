// Schemas of the user's own, given in options or in a file.

#include <fstream>

#include "postgres/src/templates.h"
#include "postgres_test_support.h"
#include "tests/support/catch.h"
#include "tests/support/log_capture.h"

namespace stout::test {
namespace {

constexpr char kDocuments[] = R"(CREATE TABLE documents (
  id text PRIMARY KEY,
  body jsonb NOT NULL CHECK (body ? 'title'),
  epoch int8 NOT NULL,
  version int8 NOT NULL))";

PostgresTemplates DocumentTemplates() {
  return {.upsert = R"(INSERT INTO documents AS d
SELECT convert_from(k, 'UTF8'), convert_from(v, 'UTF8')::jsonb, $3::int8, n
FROM unnest($1::bytea[], $2::bytea[], $4::int8[]) AS u (k, v, n) ORDER BY k
ON CONFLICT (id) DO UPDATE SET body = excluded.body, epoch = excluded.epoch,
  version = excluded.version
WHERE (d.epoch, d.version) < (excluded.epoch, excluded.version))",
          .remove = R"(DELETE FROM documents d
USING unnest($1::bytea[], $3::int8[]) AS u (k, n)
WHERE d.id = convert_from(u.k, 'UTF8') AND (d.epoch, d.version) < ($2::int8, u.n))",
          .select = R"(SELECT convert_to(id, 'UTF8'), convert_to(body::text, 'UTF8'), epoch, version
FROM documents WHERE convert_to(id, 'UTF8') = ANY ($1::bytea[]))"};
}

// Expressions over a key k and a value v, and over the columns of the table notes. By default both
// columns are text.
struct Notes {
  std::string key = "convert_from(k, 'UTF8')";
  std::string value = "convert_from(v, 'UTF8')";
  std::string id = "convert_to(id::text, 'UTF8')";
  std::string body = "convert_to(body::text, 'UTF8')";
  std::string also = "true";  // additional condition of remove
};

PostgresOptions Templates(const Notes& notes) {
  PostgresOptions options;
  options.templates = PostgresTemplates{
      .upsert = "INSERT INTO notes AS t SELECT " + notes.key + ", " + notes.value +
                ", $3::int8, n FROM unnest($1::bytea[], $2::bytea[], $4::int8[]) AS u (k, v, n) "
                "ORDER BY k ON CONFLICT (id) DO UPDATE SET body = excluded.body, "
                "epoch = excluded.epoch, version = excluded.version "
                "WHERE (t.epoch, t.version) < (excluded.epoch, excluded.version)",
      .remove =
          "DELETE FROM notes t USING unnest($1::bytea[], $3::int8[]) AS u (k, n) WHERE id = " +
          notes.key + " AND (t.epoch, t.version) < ($2::int8, n) AND " + notes.also,
      .select = "SELECT " + notes.id + ", " + notes.body + ", epoch, version FROM notes WHERE " +
                notes.id + " = ANY ($1::bytea[])"};
  return options;
}

std::string NotesTable(const std::string& id, const std::string& body) {
  return "SET client_min_messages = warning; DROP TABLE IF EXISTS notes; CREATE TABLE notes (id " +
         id + " PRIMARY KEY, body " + body + ", epoch int8, version int8)";
}

}  // namespace

TEST_CASE_METHOD(PostgresTest, "postgres: a schema of the user's own") {
  server().Execute(kDocuments);
  const auto store = Open(PostgresOptions{.templates = DocumentTemplates()});
  CHECK(store->traits().compares_stamps);
  CHECK_FALSE(store->traits().scans);
  CHECK_FALSE(store->traits().ordered);
  CHECK(ScanNow(*store, {}).errc == Errc::kRefused);
  CHECK(WriteNow(*store, Batch(2, {Put("a", R"({"title": "A"})", 1), Put("b", R"({"title": 2})", 2),
                                   Put("c", "no json", 3), Put("d", R"({"x": 1})", 4),
                                   Put("\xff", R"({"title": 3})", 5)})) ==
        WriteResult{Errc::kOk, {{2, Errc::kRefused}, {3, Errc::kRefused}, {4, Errc::kRefused}}});
  CHECK(ReadOne(*store, "a") == Found(R"({"title": "A"})", {2, 1}));
  CHECK_FALSE(ReadOne(*store, "c").found);
  // Deletes beside puts, and what is late.
  CHECK(WriteNow(*store, Batch(2, {Delete("a", 6), Put("b", R"({"title": "B"})", 7)})) ==
        WriteResult{});
  CHECK_FALSE(ReadOne(*store, "a").found);
  const std::vector<ItemError> fenced = {{0, Errc::kFenced}};
  CHECK(WriteNow(*store, Batch(1, {Put("b", R"({"title": "late"})", 9)})).items == fenced);
  CHECK(WriteNow(*store, Batch(1, {Delete("b", 10)})).items == fenced);
  // Refused and fenced in one batch.
  CHECK(WriteNow(*store, Batch(1, {Put("e", "no json", 11), Put("b", "{}", 12)})).items ==
        std::vector<ItemError>{{0, Errc::kRefused}, {1, Errc::kRefused}});
  CHECK(ReadOne(*store, "b") == Found(R"({"title": "B"})", {2, 7}));
}

TEST_CASE_METHOD(PostgresTest, "postgres: statements that do not fit are refused with the reason") {
  server().Execute(kDocuments);
  PostgresOptions options{.templates = DocumentTemplates()};
  options.templates->select = "SELECT id, body FROM documents WHERE id = ANY ($1)";
  CHECK(WhyNot(options).find("$1 is another type instead of bytea[]") != std::string::npos);
  options.templates->select = "SELECT 1";
  CHECK(WhyNot(options).find("0 parameters instead of 1") != std::string::npos);
  options.templates->select = "SELECT ''::bytea, id FROM documents WHERE $1::bytea[] IS NULL";
  CHECK(WhyNot(options).find("2 columns instead of 4") != std::string::npos);
  options.templates->select = "SELECT FROM";
  CHECK(WhyNot(options).find("syntax error") != std::string::npos);
  CHECK(WhyNot(PostgresOptions{.table = "a..b"}).find("is not a name") != std::string::npos);
  CHECK(WhyNot(PostgresOptions{.table = "there", .create = false}).find("CREATE TABLE") !=
        std::string::npos);
}

TEST_CASE_METHOD(PostgresTest, "postgres: templates that keep another value are refused",
                 "[not_tsan]") {
  const bool pooled = GENERATE(false, true);
  CAPTURE(pooled);
  const int port = PortOf(pooled);
  server().Execute(NotesTable("text", "text"));
  const std::string why = WhyNot(Templates({.value = "v::text"}), port);
  CHECK(why.find("templates=") != std::string::npos);
  CHECK(why.find("returns another value") != std::string::npos);
  CHECK(why.find("convert_from(v, 'UTF8')") != std::string::npos);
  CHECK(WhyNot(Templates({.value = "convert_from(v, 'LATIN1')"}), port).find("another value") !=
        std::string::npos);
  CHECK(WhyNot(Templates({.key = "k::text"}), port).find("does not find the key") !=
        std::string::npos);
  // Text that looks like bytes is read as bytes.
  CHECK(WhyNot(Templates({.body = "body::bytea"}), port).find("templates=") != std::string::npos);
  CHECK(WhyNot(Templates({.also = "false"}), port).find("still finds the key") !=
        std::string::npos);

  CHECK(Open(Templates({}), port) != nullptr);
  CHECK(Open(Templates({.value = "encode(v, 'base64')", .body = "decode(body, 'base64')"}), port) !=
        nullptr);
  CHECK(Open(Templates({.value = "v::text", .body = "body::bytea"}), port) != nullptr);
  CHECK(server().Execute("SELECT count(*) FROM notes") == "0");
}

TEST_CASE_METHOD(PostgresTest,
                 "postgres: templates over jsonb that keep another value are refused") {
  server().Execute(NotesTable("text", "jsonb"));
  const std::string json = "convert_from(v, 'UTF8')::jsonb";
  for (const Notes& wrong : {
           Notes{.value = "convert_from(v, 'LATIN1')::jsonb"},
           Notes{.value = json + R"( || '{"by": "app"}')"},
           Notes{.value = json, .body = "body::text::bytea"},
       }) {
    CAPTURE(wrong.value, wrong.body);
    CHECK(WhyNot(Templates(wrong)).find("returns another value") != std::string::npos);
  }
  LogCapture log;
  CHECK(Open(Templates({.value = json})) != nullptr);
  CHECK(Open(Templates({.value = json, .body = "convert_to(jsonb_pretty(body), 'UTF8')"})) !=
        nullptr);
  // As in docs/STORES.md.
  server().Execute(
      "CREATE TABLE documents (id text PRIMARY KEY, body jsonb, epoch int8, version int8)");
  PostgresOptions documents{.templates = DocumentTemplates()};
  CHECK(Open(documents) != nullptr);
  CHECK(log.Count("templates=") == 0);
  documents.templates->select = R"(SELECT convert_to(id, 'UTF8'), body::text::bytea, epoch, version
FROM documents WHERE convert_to(id, 'UTF8') = ANY ($1::bytea[]))";
  CHECK(WhyNot(documents).find("returns another value") != std::string::npos);
}

TEST_CASE_METHOD(PostgresTest, "postgres: templates are tried with what their columns take") {
  struct Columns {
    std::string id, body;
    Notes notes;
  };
  const std::string key = "convert_from(k, 'UTF8')";
  const std::string value = "convert_from(v, 'UTF8')";
  for (Columns columns : {
           Columns{"uuid", "bytea", {.key = key + "::uuid", .value = "v", .body = "body"}},
           Columns{"int", "jsonb", {.key = key + "::int", .value = value + "::jsonb"}},
           Columns{"int8", "text", {.key = key + "::int8"}},
           Columns{"text CHECK (id ~ '^[0-9]+$')", "int", {.value = value + "::int"}},
           Columns{"text", "numeric(9, 2)", {.value = value + "::numeric"}},
           Columns{"varchar(20)", "varchar(8)", {}},
       }) {
    CAPTURE(columns.id, columns.body);
    server().Execute(NotesTable(columns.id, columns.body));
    LogCapture log;
    CHECK(Open(Templates(columns.notes)) != nullptr);
    CHECK(log.Count("templates=") == 0);
    columns.notes.also = "false";
    CHECK(WhyNot(Templates(columns.notes)).find("still finds the key") != std::string::npos);
  }
}

TEST_CASE_METHOD(PostgresTest, "postgres: templates that cannot be tried are warned of") {
  LogCapture log;
  server().Execute(kDocuments);
  CHECK(Open(PostgresOptions{.templates = DocumentTemplates()}) != nullptr);
  CHECK(log.Count("[warning] postgres: templates= could not be checked") == 1);
  CHECK(log.Count("violates check constraint \"documents_body_check\"") == 1);
  // The interval 1234 is 00:20:34, which is no mistake of the statements.
  server().Execute(NotesTable("text", "interval"));
  CHECK(Open(Templates({.value = "convert_from(v, 'UTF8')::interval"})) != nullptr);
  CHECK(log.Count("templates= could not be checked") == 2);
}

TEST_CASE_METHOD(PostgresTest, "postgres: a trial touches no row that is there") {
  server().Execute(NotesTable("text", "bytea") + "; CREATE SEQUENCE writes");
  PostgresOptions options =
      Templates({.value = "CASE nextval('writes') WHEN 0 THEN v ELSE v END", .body = "body"});
  CHECK(Open(options) != nullptr);
  REQUIRE(server().Execute("SELECT is_called FROM writes") == "t");
  options.templates->select =
      "SELECT k, ''::bytea, 9::int8, 9::int8 FROM unnest($1::bytea[]) AS u (k)";
  server().Execute("ALTER SEQUENCE writes RESTART");
  LogCapture log;
  CHECK(Open(options) != nullptr);
  CHECK(log.Count("templates= could not be checked") == 1);
  CHECK(server().Execute("SELECT is_called FROM writes") == "f");
}

TEST_CASE_METHOD(PostgresTest, "postgres: templates from a file that the URL names") {
  server().Execute(kDocuments);
  const TempDirectory directory;
  const std::string file = directory.path() + "/documents.sql";
  const PostgresTemplates templates = DocumentTemplates();
  std::ofstream(file) << "-- Documents of JSON.\n-- select\n"
                      << templates.select << "\n;\n  -- upsert\r\n"
                      << templates.upsert << ";\n\n-- remove\n-- only older ones\n"
                      << templates.remove << "\n";
  const auto store = Open("templates=" + file);
  CHECK(WriteNow(*store, Batch(2, {Put("a", R"({"title": "A"})", 1), Put("b", "no json", 2)})) ==
        WriteResult{Errc::kOk, {{1, Errc::kRefused}}});
  CHECK(WriteNow(*store, Batch(2, {Delete("a", 3)})) == WriteResult{});
  CHECK_FALSE(ReadOne(*store, "a").found);
  // Fences are kept beside whatever schema.
  CHECK_FALSE(FenceNow(*store, "s", 9));
  CHECK(WriteNow(*store, Scoped("s", Batch(8, {Put("a", R"({"title": "late"})", 4)}))) ==
        WriteResult{Errc::kFenced, {}});
  CHECK_FALSE(ReadOne(*store, "a").found);

  Diagnostics why;
  const auto open = [&](const std::string& name) {
    return OpenStore(server().Url("templates=" + name), pool_.get_executor(), &why).error();
  };
  CHECK(open(directory.path() + "/none.sql") == Errc::kBadUrl);
  CHECK(why.message.find("/none.sql: No such file") != std::string::npos);
  std::ofstream(file) << "-- upsert\nSELECT 1\n-- select\nSELECT 1\n";
  CHECK(open(file) == Errc::kBadUrl);
  CHECK(why.message.find(file + ": there is no statement 'remove': write it below a line") !=
        std::string::npos);
}

TEST_CASE_METHOD(PostgresTest,
                 "postgres: templates take any bytes as a value only if the URL says so") {
  CHECK(Open(PostgresOptions{})->traits().opaque_values);
  server().Execute(NotesTable("text", "bytea"));
  PostgresOptions options = Templates({.value = "v", .body = "body"});
  CHECK_FALSE(Open(options)->traits().opaque_values);
  options.expiry = true;
  const auto store = Open(options);
  CHECK(store->traits().opaque_values);
  const std::string dated("\0stx1\0\0\1\2\3\4\5\6v", 14);
  CHECK(WriteNow(*store, Batch(1, {Put("k", dated, 1), Put("b", "bare", 2)})) == WriteResult{});
  CHECK(ReadOne(*store, "k") == Found(dated, {1, 1}));
  CHECK(server().Execute("SELECT convert_from(body, 'UTF8') FROM notes WHERE id = 'b'") == "bare");

  server().Execute(NotesTable("text", "text"));
  options = Templates({});
  CHECK_FALSE(Open(options)->traits().opaque_values);
  options.expiry = true;
  CHECK(WhyNot(options).find("expiry=true needs templates that take any bytes") !=
        std::string::npos);
}

TEST_CASE("postgres: templates are three statements, each once, each below its name") {
  std::string error;
  const auto parsed =
      postgres::ParseTemplates("-- upsert\nA\n;\n-- remove\n B;\n\n-- select\nC", &error);
  REQUIRE(parsed.has_value());
  CHECK(parsed->upsert == "A");
  CHECK(parsed->remove == "B");
  CHECK(parsed->select == "C");
  CHECK_FALSE(postgres::ParseTemplates("", &error).has_value());
  CHECK(error.find("'upsert'") != std::string::npos);
  CHECK_FALSE(
      postgres::ParseTemplates("-- upsert\n;\n-- remove\nB\n-- select\nC", &error).has_value());
  CHECK(error.find("'upsert'") != std::string::npos);
  CHECK_FALSE(postgres::ParseTemplates("-- upsert\nA\n-- upsert\nA", &error).has_value());
  CHECK(error == "'-- upsert' appears twice");
}

}  // namespace stout::test
