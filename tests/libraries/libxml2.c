/* SPDX-License-Identifier: Apache-2.0 */
/* libxml2 keeps handlers and the last error for the process. */
#include <libxml/parser.h>
#include <libxml/xpath.h>

#include "work.h"

static int errors;

static void count_error(void *context, const char *format, ...) {
  (void)context, (void)format;
  errors++;
}

int main(int argc, char **argv) {
  int rank = work_start(&argc, &argv);
  char text[4096];
  int used = snprintf(text, sizeof text, "<all>");
  for (int i = 0; i < 20; i++)
    used += snprintf(text + used, sizeof text - (size_t)used, "<item value='%d'/>", i * rank);
  snprintf(text + used, sizeof text - (size_t)used, "</all>");
  xmlInitParser();
  xmlSetGenericErrorFunc(NULL, count_error);
  work_mix();
  xmlDocPtr document = xmlReadMemory(text, (int)strlen(text), "all.xml", NULL, 0);
  WORK(document != NULL);
  work_mix();
  WORK(xmlReadMemory("<broken", 7, "broken.xml", NULL, 0) == NULL);
  xmlXPathContextPtr context = xmlXPathNewContext(document);
  xmlXPathObjectPtr sum = xmlXPathEvalExpression(BAD_CAST "sum(//item/@value)", context);
  work_mix();
  WORK(sum != NULL && errors > 0 && xmlGetLastError() != NULL);
  double result = sum->floatval + errors;
  xmlXPathFreeObject(sum);
  xmlXPathFreeContext(context);
  xmlFreeDoc(document);
  xmlCleanupParser();
  return work_end(result);
}
