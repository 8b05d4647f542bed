#pragma once

#include <cstdint>
#include <initializer_list>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace stout::test {

struct HttpReply {
  int status = 0;
  std::map<std::string, std::string> fields;  // Names in lower case.
  std::string body;

  [[nodiscard]] std::string Field(const std::string& name) const {
    const auto field = fields.find(name);
    return field == fields.end() ? std::string() : field->second;
  }
};

using HttpFields = std::initializer_list<std::pair<std::string_view, std::string_view>>;

// Bytes of a request with a body of known length.
[[nodiscard]] std::string Format(std::string_view method, std::string_view target,
                                 std::string_view body = {}, HttpFields fields = {});

// A client that blocks, and can do all that clients should not.
class HttpClient {
 public:
  explicit HttpClient(std::uint16_t port);
  ~HttpClient();

  void Send(std::string_view bytes);
  // The next response; a status of 0 if the server has closed the connection instead.
  [[nodiscard]] HttpReply Receive(bool head = false);
  [[nodiscard]] HttpReply Do(std::string_view method, std::string_view target,
                             std::string_view body = {}, HttpFields fields = {});
  // All bytes up to the end of the connection.
  [[nodiscard]] std::string ReceiveAll();
  // Waits for the end of the connection; false if bytes come before it.
  [[nodiscard]] bool AtEnd();
  // Whether nothing has come that was not received.
  [[nodiscard]] bool Silent();
  // Sends no more, and goes on to read.
  void ShutdownSend();
  // Ends the connection without waiting for anything: the server's reads and writes fail.
  void Reset();

 private:
  bool ReadSome();

  struct Socket;
  std::unique_ptr<Socket> socket_;
  std::string input_;
};

}  // namespace stout::test
