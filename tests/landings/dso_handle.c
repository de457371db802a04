/* SPDX-License-Identifier: Apache-2.0 */
/* What a shared object's startup files define, for one that is linked without them:
 * pthread_atfork() passes it, to say whose handlers they are. */
extern void *__dso_handle; // NOLINT(bugprone-reserved-identifier): the name is the ABI's
__attribute__((visibility("hidden"))) void *__dso_handle = &__dso_handle;
