/* SPDX-License-Identifier: Apache-2.0 */
/* OpenSSL keeps a queue of errors for each thread, loads providers, and cleans up at the exit. */
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/provider.h>

#include "work.h"

static double digest(const char *name, const void *data, size_t size) {
  unsigned char out[EVP_MAX_MD_SIZE];
  unsigned count = 0;
  double sum = 0;
  WORK(EVP_Digest(data, size, out, &count, EVP_get_digestbyname(name), NULL) == 1);
  for (unsigned i = 0; i < count; i++) sum += out[i] * (i + 1.0);
  return sum;
}

int main(int argc, char **argv) {
  int rank = work_start(&argc, &argv), length = 0;
  unsigned char key[32] = {(unsigned char)rank}, block[1024] = {0}, signature[256];
  size_t signed_size = sizeof signature;
  WORK(OSSL_PROVIDER_load(NULL, "default") != NULL && OSSL_PROVIDER_load(NULL, "legacy") != NULL);
  for (int i = 0; i <= rank % 5; i++) ERR_raise(ERR_LIB_USER, rank + i + 1);
  EVP_PKEY *pair = EVP_EC_gen("P-256");
  EVP_CIPHER_CTX *cipher = EVP_CIPHER_CTX_new();
  EVP_MD_CTX *context = EVP_MD_CTX_new();
  WORK(pair != NULL && EVP_EncryptInit(cipher, EVP_aes_256_cbc(), key, key) == 1);
  work_mix();
  for (int i = 0; i < 20; i++) {
    WORK(EVP_EncryptUpdate(cipher, block, &length, block, 512) == 1);
    if (i % 10 == 0) work_mix();
  }
  double sum = digest("sha256", block, sizeof block) + digest("md4", block, sizeof block);
  WORK(EVP_DigestSignInit(context, NULL, EVP_sha256(), NULL, pair) == 1 &&
       EVP_DigestSign(context, signature, &signed_size, block, sizeof block) == 1);
  work_mix();
  EVP_MD_CTX_reset(context);
  WORK(EVP_DigestVerifyInit(context, NULL, EVP_sha256(), NULL, pair) == 1 &&
       EVP_DigestVerify(context, signature, signed_size, block, sizeof block) == 1);
  for (unsigned long code; (code = ERR_get_error()) != 0;) sum += 1000 * ERR_GET_REASON(code);
  EVP_MD_CTX_free(context);
  EVP_CIPHER_CTX_free(cipher);
  EVP_PKEY_free(pair);
  return work_end(sum);
}
