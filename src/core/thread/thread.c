/* SPDX-License-Identifier: Apache-2.0 */
/* The calling thread. */
#include "core/thread/thread.h"

/* used: named in asm statements, where a link-time optimiser does not look */
__thread struct mltp_thread *mt_current_thread __attribute__((tls_model("initial-exec"), used));
