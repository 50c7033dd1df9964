// Certificates for tests: made on the spot, signed by themselves, valid for an hour. Any thread.
#pragma once

#include <cstdio>
#include <memory>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <string>

#include "base/check.h"
#include "testing/temp_folder.h"

namespace dunlin {

// The PEM files of one, in a folder of their own that goes away with it.
class TestCertificate {
 public:
  // `names` is in OpenSSL's form: "DNS:hub.example,IP:127.0.0.1".
  explicit TestCertificate(const std::string& names) {
    const std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)> key(EVP_EC_gen("P-256"),
                                                                  EVP_PKEY_free);
    const std::unique_ptr<X509, decltype(&X509_free)> certificate(X509_new(), X509_free);
    X509* raw = certificate.get();
    CHECK(X509_set_version(raw, X509_VERSION_3) == 1);
    CHECK(ASN1_INTEGER_set(X509_get_serialNumber(raw), 1) == 1);
    CHECK(X509_gmtime_adj(X509_getm_notBefore(raw), -60) != nullptr);
    CHECK(X509_gmtime_adj(X509_getm_notAfter(raw), 3600) != nullptr);
    CHECK(X509_set_pubkey(raw, key.get()) == 1);
    X509_NAME* name = X509_get_subject_name(raw);
    const auto* text = reinterpret_cast<const unsigned char*>("dunlin test");
    CHECK(X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, text, -1, -1, 0) == 1);
    CHECK(X509_set_issuer_name(raw, name) == 1);
    X509_EXTENSION* extension =
        X509V3_EXT_conf_nid(nullptr, nullptr, NID_subject_alt_name, names.c_str());
    CHECK(extension != nullptr && X509_add_ext(raw, extension, -1) == 1);
    X509_EXTENSION_free(extension);
    CHECK(X509_sign(raw, key.get(), EVP_sha256()) > 0);

    FILE* file = std::fopen(cert_file().c_str(), "w");
    CHECK(file != nullptr && PEM_write_X509(file, raw) == 1);
    CHECK(std::fclose(file) == 0);
    file = std::fopen(key_file().c_str(), "w");
    CHECK(file != nullptr &&
          PEM_write_PrivateKey(file, key.get(), nullptr, nullptr, 0, nullptr, nullptr) == 1);
    CHECK(std::fclose(file) == 0);
  }
  TestCertificate(const TestCertificate&) = delete;
  TestCertificate& operator=(const TestCertificate&) = delete;

  std::string cert_file() const { return folder_.path() + "/cert.pem"; }
  std::string key_file() const { return folder_.path() + "/key.pem"; }

 private:
  const TestFolder folder_;
};

}  // namespace dunlin
