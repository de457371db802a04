/* SPDX-License-Identifier: Apache-2.0 */
/* GnuTLS keeps its random generators, its self tests and its log for the process. */
#include <gnutls/abstract.h>
#include <gnutls/crypto.h>
#include <gnutls/gnutls.h>

#include "work.h"

static int logged;

static void count_log(int level, const char *text) {
  (void)level, (void)text;
  logged++;
}

int main(int argc, char **argv) {
  int rank = work_start(&argc, &argv);
  unsigned char key[32] = {(unsigned char)rank}, block[512] = {0}, out[32];
  gnutls_datum_t key_data = {key, sizeof key}, vector = {key, 16}, text = {block, sizeof block},
                 signature;
  gnutls_cipher_hd_t cipher;
  gnutls_privkey_t private_key;
  gnutls_pubkey_t public_key;
  double sum = 0;
  WORK(gnutls_global_init() == 0 && gnutls_privkey_init(&private_key) == 0 &&
       gnutls_pubkey_init(&public_key) == 0);
  gnutls_global_set_log_function(count_log);
  gnutls_global_set_log_level(rank % 2 == 0 ? 99 : 0);
  unsigned bits = GNUTLS_CURVE_TO_BITS(GNUTLS_ECC_CURVE_SECP256R1);
  work_mix();
  WORK(gnutls_privkey_generate(private_key, GNUTLS_PK_ECDSA, bits, 0) == 0 &&
       gnutls_pubkey_import_privkey(public_key, private_key, 0, 0) == 0 &&
       gnutls_cipher_init(&cipher, GNUTLS_CIPHER_AES_256_CBC, &key_data, &vector) == 0);
  for (int i = 0; i < 20; i++) {
    WORK(gnutls_cipher_encrypt(cipher, block, sizeof block) == 0);
    if (i % 10 == 0) work_mix();
  }
  WORK(gnutls_privkey_sign_data(private_key, GNUTLS_DIG_SHA256, 0, &text, &signature) == 0);
  work_mix();
  WORK(gnutls_pubkey_verify_data2(public_key, GNUTLS_SIGN_ECDSA_SHA256, 0, &text, &signature) == 0);
  WORK(gnutls_hash_fast(GNUTLS_DIG_SHA256, block, sizeof block, out) == 0);
  for (unsigned i = 0; i < sizeof out; i++) sum += out[i] * (i + 1.0);
  gnutls_free(signature.data);
  gnutls_cipher_deinit(cipher);
  gnutls_pubkey_deinit(public_key);
  gnutls_privkey_deinit(private_key);
  return work_end(sum + 1e6 * (rank % 2 == 0 ? logged > 0 : logged));
}
