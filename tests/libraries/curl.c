/* SPDX-License-Identifier: Apache-2.0 */
/* libcurl, which needs some thirty libraries, reads a file. */
#include <curl/curl.h>

#include "work.h"

static size_t add(char *data, size_t size, size_t count, void *sum) {
  for (size_t i = 0; i < size * count; i++) *(double *)sum += data[i];
  return size * count;
}

int main(int argc, char **argv) {
  int rank = work_start(&argc, &argv);
  char name[4096], url[5000];
  double sum = 0;
  snprintf(name, sizeof name, "%s/curl.%d", argv[1], rank);
  FILE *file = fopen(name, "w");
  WORK(file != NULL);
  for (int i = 0; i < 1000; i++) fprintf(file, "%d ", i * rank);
  fclose(file);
  snprintf(url, sizeof url, "file://%s", name);
  WORK(curl_global_init(CURL_GLOBAL_ALL) == 0);
  work_mix();
  CURL *handle = curl_easy_init();
  curl_easy_setopt(handle, CURLOPT_URL, url);
  curl_easy_setopt(handle, CURLOPT_WRITEFUNCTION, add);
  curl_easy_setopt(handle, CURLOPT_WRITEDATA, &sum);
  WORK(curl_easy_perform(handle) == CURLE_OK);
  work_mix();
  curl_easy_cleanup(handle);
  curl_global_cleanup();
  return work_end(sum);
}
