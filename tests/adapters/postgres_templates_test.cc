// Schemas of the user's own, given in options or in a file.

#include <catch2/catch.hpp>
#include <fstream>

#include "postgres/src/templates.h"
#include "postgres_test_support.h"

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

}  // namespace

TEST_CASE_METHOD(PostgresTest, "postgres: a schema of the user's own") {
  server().Execute(kDocuments);
  const auto store = Open(PostgresOptions{.templates = DocumentTemplates()});
  CHECK(store->traits().compares_stamps);
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
  CHECK(WhyNot(PostgresOptions{.table = "a..b"}).find("is no name") != std::string::npos);
  CHECK(WhyNot(PostgresOptions{.table = "there", .create = false}).find("CREATE TABLE") !=
        std::string::npos);
}

TEST_CASE_METHOD(PostgresTest, "postgres: templates that keep another value are refused") {
  const bool pooled = GENERATE(false, true);
  CAPTURE(pooled);
  const int port = PortOf(pooled);
  server().Execute("CREATE TABLE notes (id text PRIMARY KEY, body text, epoch int8, version int8)");
  // The statements for these expressions over a key k and a value v, and over the columns.
  const auto notes = [](const std::string& key, const std::string& value, const std::string& id,
                        const std::string& body) {
    PostgresOptions options;
    options.templates = PostgresTemplates{
        .upsert = "INSERT INTO notes AS t SELECT " + key + ", " + value +
                  ", $3::int8, n FROM unnest($1::bytea[], $2::bytea[], $4::int8[]) AS u (k, v, n) "
                  "ORDER BY k ON CONFLICT (id) DO UPDATE SET body = excluded.body, "
                  "epoch = excluded.epoch, version = excluded.version "
                  "WHERE (t.epoch, t.version) < (excluded.epoch, excluded.version)",
        .remove =
            "DELETE FROM notes t USING unnest($1::bytea[], $3::int8[]) AS u (k, n) WHERE id = " +
            key + " AND (t.epoch, t.version) < ($2::int8, n)",
        .select = "SELECT " + id + ", " + body + ", epoch, version FROM notes WHERE " + id +
                  " = ANY ($1::bytea[])"};
    return options;
  };
  const std::string k = "convert_from(k, 'UTF8')";
  const std::string v = "convert_from(v, 'UTF8')";
  const std::string id = "convert_to(id, 'UTF8')";
  const std::string body = "convert_to(body, 'UTF8')";

  const std::string why = WhyNot(notes(k, "v::text", id, body), port);
  CHECK(why.find("templates=") != std::string::npos);
  CHECK(why.find("returns another value") != std::string::npos);
  CHECK(why.find("convert_from(v, 'UTF8')") != std::string::npos);
  CHECK(WhyNot(notes("k::text", v, id, body), port).find("does not find the key") !=
        std::string::npos);
  // Text that looks like bytes is read as bytes.
  CHECK(WhyNot(notes(k, v, id, "body::bytea"), port).find("templates=") != std::string::npos);
  PostgresOptions keeps = notes(k, v, id, body);
  keeps.templates->remove =
      "DELETE FROM notes USING unnest($1::bytea[], $3::int8[]) AS u (k, n) WHERE id = k::text "
      "AND (epoch, notes.version) < ($2::int8, n)";
  CHECK(WhyNot(keeps, port).find("still finds the key") != std::string::npos);

  CHECK(Open(notes(k, v, id, body), port) != nullptr);
  CHECK(Open(notes(k, "encode(v, 'base64')", id, "decode(body, 'base64')"), port) != nullptr);
  CHECK(Open(notes(k, "v::text", id, "body::bytea"), port) != nullptr);
  CHECK(server().Execute("SELECT count(*) FROM notes") == "0");
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
  CHECK(error == "'-- upsert' stands twice");
}

}  // namespace stout::test
