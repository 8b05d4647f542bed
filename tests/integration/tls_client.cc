#include "tls_client.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include <array>
#include <csignal>
#include <stdexcept>

namespace stout::test {
namespace {

std::string Contents(BIO* memory) {
  char* bytes = nullptr;
  const long size = BIO_get_mem_data(memory, &bytes);  // NOLINT: OpenSSL's
  return {bytes, static_cast<std::size_t>(size)};
}

std::runtime_error Failure(const std::string& what) {
  std::array<char, 256> text = {};
  ::ERR_error_string_n(::ERR_get_error(), text.data(), text.size());
  return std::runtime_error(what + ": " + text.data());
}

}  // namespace

std::string ClientHello() {
  const std::unique_ptr<SSL_CTX, void (*)(SSL_CTX*)> context(::SSL_CTX_new(::TLS_client_method()),
                                                             ::SSL_CTX_free);
  const std::unique_ptr<SSL, void (*)(SSL*)> ssl(::SSL_new(context.get()), ::SSL_free);
  BIO* const sent = ::BIO_new(::BIO_s_mem());
  ::SSL_set_bio(ssl.get(), ::BIO_new(::BIO_s_mem()), sent);
  ::SSL_connect(ssl.get());  // needs an answer
  return Contents(sent);
}

TlsClient::TlsClient(int port, int version)
    : RespClient(port),
      context_(::SSL_CTX_new(::TLS_client_method()), ::SSL_CTX_free),
      ssl_(::SSL_new(context_.get()), ::SSL_free) {
  std::signal(SIGPIPE, SIG_IGN);  // OpenSSL writes to the socket
  if (version != 0) {
    // Otherwise OpenSSL itself refuses old versions.
    ::SSL_set_cipher_list(ssl_.get(), "DEFAULT@SECLEVEL=0");
    ::SSL_set_min_proto_version(ssl_.get(), 0);
    ::SSL_set_max_proto_version(ssl_.get(), version);
  }
  ::SSL_set_fd(ssl_.get(), descriptor());
  ::ERR_clear_error();
  if (::SSL_connect(ssl_.get()) != 1) throw Failure("handshake");
}

TlsClient::~TlsClient() = default;

std::string TlsClient::Encrypt(const std::string& bytes) {
  BIO* const socket = ::SSL_get_wbio(ssl_.get());
  ::BIO_up_ref(socket);
  BIO* const memory = ::BIO_new(::BIO_s_mem());
  ::BIO_up_ref(memory);
  ::SSL_set0_wbio(ssl_.get(), memory);
  ::SSL_write(ssl_.get(), bytes.data(), static_cast<int>(bytes.size()));
  const std::string records = Contents(memory);
  ::BIO_free(memory);
  ::SSL_set0_wbio(ssl_.get(), socket);
  return records;
}

bool TlsClient::EndsWithNotify() {
  std::array<char, 16384> dropped;
  ::ERR_clear_error();
  int size;
  while ((size = ::SSL_read(ssl_.get(), dropped.data(), static_cast<int>(dropped.size()))) > 0) {
  }
  return ::SSL_get_error(ssl_.get(), size) == SSL_ERROR_ZERO_RETURN;
}

std::string TlsClient::CertificateName() const {
  const std::unique_ptr<BIO, int (*)(BIO*)> text(::BIO_new(::BIO_s_mem()), ::BIO_free);
  X509* const certificate = ::SSL_get0_peer_certificate(ssl_.get());
  ::X509_NAME_print_ex(text.get(), ::X509_get_subject_name(certificate), 0, XN_FLAG_ONELINE);
  return Contents(text.get());
}

void TlsClient::Write(const std::string& bytes) {
  if (::SSL_write(ssl_.get(), bytes.data(), static_cast<int>(bytes.size())) <= 0) {
    throw Failure("write");
  }
}

ssize_t TlsClient::Read(char* bytes, std::size_t size) {
  return ::SSL_read(ssl_.get(), bytes, static_cast<int>(size));
}

}  // namespace stout::test
