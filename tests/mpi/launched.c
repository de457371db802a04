/* SPDX-License-Identifier: Apache-2.0 */
/* The variables by which launchers of other MPIs tell a process its rank. This program calls
 * nothing that changes the environment, so it has getenv() of tmpirun; owned.c has the other one.
 */
#define _GNU_SOURCE
#include <string.h>
#include <unistd.h>

#include "check.h"

static int rank, size;

static int is(const char *name, int value) {
  const char *text = getenv(name);
  char expected[16];
  snprintf(expected, sizeof expected, "%d", value);
  return text != NULL && strcmp(text, expected) == 0 && secure_getenv(name) == text;
}

/* A child of the rank's has them, too. */
static void check_child(void) {
  char text[32] = "";
  FILE *stream = popen("echo $PMI_RANK of $OMPI_COMM_WORLD_SIZE", "r");
  char expected[32];
  snprintf(expected, sizeof expected, "%d of %d\n", rank, size);
  CHECK(stream != NULL && fgets(text, sizeof text, stream) != NULL);
  CHECK(pclose(stream) == 0 && strcmp(text, expected) == 0);
}

int main(int argc, char **argv, char **environment) {
  (void)argc, (void)argv;
  int entries = 0;
  char first[32];
  MPI_Init(NULL, NULL);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  CHECK(is("OMPI_COMM_WORLD_RANK", rank) && is("OMPI_COMM_WORLD_SIZE", size));
  CHECK(is("OMPI_COMM_WORLD_LOCAL_RANK", rank) && is("OMPI_COMM_WORLD_LOCAL_SIZE", size));
  CHECK(is("OMPI_COMM_WORLD_NODE_RANK", rank));
  CHECK(is("PMI_RANK", rank) && is("PMI_SIZE", size));
  CHECK(is("MPI_LOCALRANKID", rank) && is("MPI_LOCALNRANKS", size));
  CHECK(getenv("PMI_RAN") == NULL && getenv("PATH") != NULL && secure_getenv("PATH") != NULL);
  snprintf(first, sizeof first, "PMI_RANK=%d", rank);
  for (char **at = environment; *at != NULL; at++) {
    CHECK(strncmp(*at, "PMI_RANK=", 9) != 0 || strcmp(*at, first) == 0);
    entries += strcmp(*at, first) == 0;
  }
  CHECK(entries == 1); /* whatever tmpirun was started with */
  check_child();
  MPI_Finalize();
  return 0;
}
