#include "resp/server/tls.h"

#include <fmt/format.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <openssl/x509_vfy.h>
#include <unistd.h>

#include <boost/system/error_code.hpp>
#include <cerrno>
#include <cstddef>
#include <new>
#include <string_view>
#include <system_error>
#include <utility>

namespace stout::resp {
namespace {

namespace ssl = boost::asio::ssl;

// Returns the problem, or "".
std::string WhyUnreadable(std::string_view option, const std::string& file) {
  if (::access(file.c_str(), R_OK) == 0) return {};
  return fmt::format("{}: cannot read '{}': {}; check the path and its permissions", option, file,
                     std::generic_category().message(errno));
}

// Makes the context trust the authorities. Returns the problem, or "".
std::string Trust(const TlsFiles& files, ssl::context& tls) {
  boost::system::error_code failed;
  tls.load_verify_file(files.authorities, failed);
  if (failed) {
    return fmt::format("--tls-ca: '{}' has no usable certificate in PEM: {}", files.authorities,
                       failed.message());
  }
  X509_STORE* const trusted = ::SSL_CTX_get_cert_store(tls.native_handle());
  // A certificate in the file is trusted also if it is not the root of its chain.
  ::X509_STORE_set_flags(trusted, X509_V_FLAG_PARTIAL_CHAIN);
  // Other servers will check this certificate in the same way.
  STACK_OF(X509)* chain = nullptr;
  ::SSL_CTX_get0_chain_certs(tls.native_handle(), &chain);
  const std::unique_ptr<X509_STORE_CTX, void (*)(X509_STORE_CTX*)> check(::X509_STORE_CTX_new(),
                                                                         ::X509_STORE_CTX_free);
  if (!check || ::X509_STORE_CTX_init(check.get(), trusted,
                                      ::SSL_CTX_get0_certificate(tls.native_handle()), chain) != 1)
    throw std::bad_alloc();
  ::X509_STORE_CTX_set_default(check.get(), "ssl_server");
  RequireHost(::X509_STORE_CTX_get0_param(check.get()), files.host);
  if (::X509_verify_cert(check.get()) == 1) return {};
  return fmt::format("--tls-cert: the certificate in '{}' {}", files.certificate,
                     RefusedCertificate(::X509_STORE_CTX_get_error(check.get()), files.host));
}

// Returns the problem, or "".
std::string Read(const TlsFiles& files, ssl::context& tls) {
  for (const auto& [option, file] :
       {std::pair("--tls-cert", files.certificate), std::pair("--tls-key", files.key),
        std::pair("--tls-ca", files.authorities)}) {
    if (file.empty()) continue;
    if (std::string wrong = WhyUnreadable(option, file); !wrong.empty()) return wrong;
  }
  boost::system::error_code failed;
  tls.use_certificate_chain_file(files.certificate, failed);
  if (failed) {
    return fmt::format("--tls-cert: '{}' has no usable certificate in PEM: {}", files.certificate,
                       failed.message());
  }
  tls.use_private_key_file(files.key, ssl::context::pem, failed);
  const bool other_key =
      failed && ERR_GET_REASON(static_cast<unsigned long>(failed.value())) ==  // NOLINT: OpenSSL's
                    X509_R_KEY_VALUES_MISMATCH;
  if (failed && !other_key) {
    return fmt::format("--tls-key: '{}' has no private key in PEM without a pass phrase: {}",
                       files.key, failed.message());
  }
  // A key of another type gives no error above.
  if (other_key || ::SSL_CTX_check_private_key(tls.native_handle()) != 1) {
    return fmt::format("--tls-key: the key in '{}' does not match the first certificate in '{}'",
                       files.key, files.certificate);
  }
  return files.authorities.empty() ? std::string() : Trust(files, tls);
}

}  // namespace

void RequireHost(X509_VERIFY_PARAM* verification, const std::string& host) {
  if (::X509_VERIFY_PARAM_set1_ip_asc(verification, host.c_str()) == 1) return;
  ::X509_VERIFY_PARAM_set1_host(verification, host.data(), host.size());
}

std::string RefusedCertificate(long error, std::string_view host) {
  return fmt::format("is refused: {}; it must be from --tls-ca and for '{}'",
                     ::X509_verify_cert_error_string(error), host);
}

Result<std::unique_ptr<ssl::context>> LoadTls(const TlsFiles& files, Diagnostics* diagnostics) {
  if (files.certificate.empty()) return std::unique_ptr<ssl::context>();
  auto tls = std::make_unique<ssl::context>(ssl::context::tls);
  SSL_CTX* const handle = tls->native_handle();
  ::SSL_CTX_set_min_proto_version(handle, TLS1_2_VERSION);
  ::SSL_CTX_set_options(handle, SSL_OP_CIPHER_SERVER_PREFERENCE | SSL_OP_NO_RENEGOTIATION);
  // For TLS 1.2: those with forward secrecy. TLS 1.3 has no others.
  ::SSL_CTX_set_cipher_list(handle, "ECDHE+AESGCM:ECDHE+CHACHA20");
  // Otherwise OpenSSL would ask the terminal for the pass phrase.
  tls->set_password_callback([](std::size_t, ssl::context::password_purpose) { return ""; });
  if (std::string wrong = Read(files, *tls); !wrong.empty()) {
    if (diagnostics) diagnostics->message = std::move(wrong);
    return Errc::kBadOptions;
  }
  return tls;
}

}  // namespace stout::resp
