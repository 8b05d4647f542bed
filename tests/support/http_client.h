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

// A blocking client that can also break the protocol.
class HttpClient {
 public:
  explicit HttpClient(std::uint16_t port);
  ~HttpClient();

  void Send(std::string_view bytes);
  // Returns the next response. The status is 0 if the server has closed the connection instead.
  [[nodiscard]] HttpReply Receive(bool head = false);
  [[nodiscard]] HttpReply Do(std::string_view method, std::string_view target,
                             std::string_view body = {}, HttpFields fields = {});
  // Returns all bytes up to the end of the connection.
  [[nodiscard]] std::string ReceiveAll();
  // Waits for the end of the connection. Returns false if bytes arrive before it.
  [[nodiscard]] bool AtEnd();
  // Returns true if no bytes have arrived that Receive has not returned.
  [[nodiscard]] bool Silent();
  // Sends no more, but still reads.
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
