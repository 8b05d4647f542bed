// The parts of leases in etcd that need no etcd.

#include <random>

#include "base64.h"
#include "gateway.h"
#include "keys.h"
#include "tests/support/catch.h"

namespace stout::etcd {

TEST_CASE("an IPv6 address is resolved without its brackets", "[etcd]") {
  CHECK(HostOf("[fe80::1]:2379") == "fe80::1");
  CHECK(HostOf("10.0.0.1:2379") == "10.0.0.1");
  CHECK(HostOf("db7:2379") == "db7");
}

TEST_CASE("base64 is that of RFC 4648", "[etcd]") {
  const std::pair<std::string, std::string> vectors[] = {{"", ""},
                                                         {"f", "Zg=="},
                                                         {"fo", "Zm8="},
                                                         {"foo", "Zm9v"},
                                                         {"foob", "Zm9vYg=="},
                                                         {"fooba", "Zm9vYmE="},
                                                         {"foobar", "Zm9vYmFy"},
                                                         {"\xff\xfe", "//4="}};
  for (const auto& [bytes, text] : vectors) {
    CHECK(EncodeBase64(bytes) == text);
    CHECK(DecodeBase64(text) == bytes);
  }
  for (const char* const wrong :
       {"Z", "Zg=", "Zg", "Z===", "====", "Zg==Zg==", "Zm9v!A==", "Z g="}) {
    CAPTURE(wrong);
    CHECK(DecodeBase64(wrong) == std::nullopt);
  }
}

TEST_CASE("any bytes survive base64", "[etcd]") {
  std::mt19937 random(1);
  for (std::size_t size = 0; size < 100; ++size) {
    std::string bytes(size, '\0');
    for (char& c : bytes) c = static_cast<char>(random());
    CHECK(DecodeBase64(EncodeBase64(bytes)) == bytes);
  }
}

TEST_CASE("values are read as they were written, and others are not", "[etcd]") {
  CHECK(DecodeDeployment(Encode(Deployment{16, 1700000000000000})) ==
        Deployment{16, 1700000000000000});
  CHECK(Encode(Deployment{16, 17}) == "16 17");  // as earlier versions write it
  CHECK(DecodeDeployment(Encode(Deployment{16, 17, "slots"})) == Deployment{16, 17, "slots"});
  for (const char* const wrong :
       {"", "16", "16 ", "0 1", "65537 1", "16 1 1", "16 1 a b", "x 1", "16 x"}) {
    CAPTURE(wrong);
    CHECK(DecodeDeployment(wrong) == std::nullopt);
  }
  CHECK(DecodeSession(Encode(SessionId{7751717507121835013})) == 7751717507121835013);
  CHECK(DecodeSession("7 a") == std::nullopt);
  CHECK(DecodeSession("") == std::nullopt);
}

TEST_CASE("a table is what the keys say", "[etcd]") {
  const Keys keys("docs");
  CHECK(keys.end() > keys.OfRange(65535));
  CHECK(TableOf(keys, {}) == LeaseTable{});
  Entries entries = {{keys.OfDeployment(), {"3 1000", 2}},
                     {keys.OfMember(7), {"b:1", 3}},
                     {keys.OfMember(8), {"a:1", 4}},
                     {keys.OfMember(9), {"a:1", 5}},
                     {keys.OfRange(0), {Encode(SessionId{8}), 6}},
                     {keys.OfRange(2), {Encode(SessionId{10}), 7}},  // a session that is over
                     {keys.OfRange(3), {Encode(SessionId{7}), 8}},   // no range of ours
                     {"docs/something", {"else", 9}}};
  CHECK(TableOf(keys, entries) == LeaseTable{{"a:1", "b:1"}, {Lease{"a:1", 8, 1006}, {}, {}}});
}

TEST_CASE("records are told from leases, and a table is beside its deployment", "[etcd]") {
  const Keys keys("docs");
  CHECK(keys.MayBeRecord(keys.OfRecord("set/3")));
  CHECK(keys.MayBeRecord(keys.OfRecord("config")));
  for (const std::string& key : {keys.OfDeployment(), keys.OfMember(7), keys.OfRange(3),
                                 std::string("other/config"), std::string("config")}) {
    CAPTURE(key);
    CHECK_FALSE(keys.MayBeRecord(key));
  }
  const Keys table = keys.OfTable("orders");
  CHECK(table.OfRecord("config") == "docs::orders/config");
  CHECK((table.end() < keys.prefix() || table.prefix() >= keys.end()));
  const RegistryTable records =
      RecordsOf(keys, {{keys.OfRecord("datalet/a"),
                        {R"({"url":"memory:","node":"","capacity":1,"since_us":0})", 3, 4}},
                       {keys.OfRecord("set/3"), {"rubbish", 5, 6}},
                       {keys.OfRange(3), {"rubbish", 7, 7}}});
  RegistryTable expected;
  expected.datalets["a"] = {{.url = "memory:"}, 4};
  expected.damaged = records.damaged;
  CHECK(records == expected);
  CHECK(records.damaged.at("set/3").revision == 6);

  // One key at a time gives the same table.
  RegistryTable kept = records;
  UpdateRecord(keys, {}, keys.OfRecord("set/3"), &kept);
  expected.damaged.clear();
  CHECK(kept == expected);
  UpdateRecord(keys, {{keys.OfRecord("datalet/a"), {"rubbish", 5, 6}}}, keys.OfRecord("datalet/a"),
               &kept);
  CHECK(kept.datalets.empty());
  CHECK(kept.damaged.at("datalet/a").revision == 6);
}

TEST_CASE("no name of a deployment can be taken for a table or for records of another", "[etcd]") {
  for (const char* const right : {"docs", "docs.orders", "docs/eu", "set", "set/eu", "a:b"}) {
    CAPTURE(right);
    CHECK(WhyNoDeployment(right) == std::nullopt);
  }
  for (const char* const wrong : {"", "docs::orders", "docs/set", "docs/table", "docs/member/x",
                                  "docs/eu/range", "docs/wanted-owner"}) {
    CAPTURE(wrong);
    CHECK(WhyNoDeployment(wrong) != std::nullopt);
  }
}

}  // namespace stout::etcd
