/* SPDX-License-Identifier: Apache-2.0 */
// ICU keeps the default locale, its services and the caches of its data for the process.
#include <unicode/brkiter.h>
#include <unicode/coll.h>
#include <unicode/numfmt.h>
#include <unicode/translit.h>

#include <memory>

#include "work.h"

int main(int argc, char **argv) {
  int rank = work_start(&argc, &argv);
  static const char *const names[] = {"de", "fr_FR", "en_US", "ar_EG", "hi_IN"};
  UErrorCode status = U_ZERO_ERROR;
  double sum = 0;
  icu::Locale::setDefault(icu::Locale(names[rank % 5]), status);
  work_mix();
  std::unique_ptr<icu::NumberFormat> format(icu::NumberFormat::createInstance(status));
  std::unique_ptr<icu::Collator> collator(icu::Collator::createInstance(status));
  std::unique_ptr<icu::BreakIterator> words(
      icu::BreakIterator::createWordInstance(icu::Locale::getDefault(), status));
  std::unique_ptr<icu::Transliterator> latin(
      icu::Transliterator::createInstance("Any-Latin; Latin-ASCII", UTRANS_FORWARD, status));
  WORK(U_SUCCESS(status));
  for (int i = 0; i < 40; i++) {
    if (i % 20 == 0) work_mix();
    icu::UnicodeString text;
    format->format(1234567.875 * i + rank, text);
    text += icu::UnicodeString::fromUTF8(" Ärger Ωμέγα привет");
    latin->transliterate(text);
    words->setText(text);
    for (int32_t at = words->first(); at != icu::BreakIterator::DONE; at = words->next()) sum += at;
    sum += text.hashCode() % 10007 + 3 * collator->compare(text, icu::UnicodeString("5"));
  }
  return work_end(sum);
}
