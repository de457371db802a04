/* SPDX-License-Identifier: Apache-2.0 */
/* NSS is initialised once for the process, and loads its modules (softokn, freebl) as plug-ins. */
#include <nss.h>
#include <pk11pub.h>
#include <prerror.h>
#include <secerr.h>

#include "work.h"

int main(int argc, char **argv) {
  int rank = work_start(&argc, &argv);
  unsigned char key[32] = {(unsigned char)rank}, block[512] = {0}, out[32];
  unsigned size = 0;
  double sum = 0;
  WORK(!NSS_IsInitialized());
  work_mix();
  WORK(NSS_NoDB_Init(NULL) == SECSuccess);
  PK11SlotInfo *slot = PK11_GetInternalKeySlot();
  SECItem item = {siBuffer, key, sizeof key}, vector = {siBuffer, key, 16};
  PK11SymKey *symmetric =
      PK11_ImportSymKey(slot, CKM_AES_CBC, PK11_OriginUnwrap, CKA_ENCRYPT, &item, NULL);
  WORK(symmetric != NULL);
  PR_SetError(SEC_ERROR_BASE + rank, 0);
  work_mix();
  sum += 1000.0 * (PR_GetError() - SEC_ERROR_BASE);
  for (int i = 0; i < 20; i++) {
    WORK(PK11_Encrypt(symmetric, CKM_AES_CBC, &vector, block, &size, sizeof block, block,
                      sizeof block) == SECSuccess);
    if (i % 10 == 0) work_mix();
  }
  WORK(PK11_HashBuf(SEC_OID_SHA256, out, block, sizeof block) == SECSuccess);
  for (unsigned i = 0; i < sizeof out; i++) sum += out[i] * (i + 1.0);
  PK11_FreeSymKey(symmetric);
  PK11_FreeSlot(slot);
  WORK(NSS_Shutdown() == SECSuccess);
  return work_end(sum);
}
