/* SPDX-License-Identifier: Apache-2.0 */
/* An interpreter of Perl in each rank, which keeps the current one for the thread and loads modules
 * in C. */
#include <EXTERN.h>
#include <perl.h>

#include "work.h"

EXTERN_C void boot_DynaLoader(pTHX_ CV *function);

static void start_modules(pTHX) { newXS("DynaLoader::boot_DynaLoader", boot_DynaLoader, __FILE__); }

int main(int argc, char **argv, char **environment) {
  int rank = work_start(&argc, &argv);
  static char script[] =
      "use List::Util 'sum'; use POSIX 'floor'; use Digest::SHA 'sha256'; use Storable 'dclone';"
      "our ($rank, @numbers) = (0);"
      "sub step { push @numbers, map { floor($_ * 1.7) + $rank } 1..20; local $_ = \"r$rank\";"
      "  my @copy = @{dclone(\\@numbers)}; die \"x$rank\\n\" if @copy % 40 == 0; $copy[-1] }"
      "sub result { sum(@numbers) + unpack('n', sha256(join ',', @numbers)) }";
  char *words[] = {"work", "-e", script, NULL}, number[100], **arguments = words;
  int count = 3;
  PERL_SYS_INIT3(&count, &arguments, &environment);
  PerlInterpreter *my_perl = perl_alloc();
  perl_construct(my_perl);
  PL_exit_flags |= PERL_EXIT_DESTRUCT_END;
  WORK(perl_parse(my_perl, start_modules, count, arguments, NULL) == 0 && perl_run(my_perl) == 0);
  snprintf(number, sizeof number, "$rank = %d", rank);
  eval_pv(number, TRUE);
  for (int i = 0; i < 10; i++) {
    eval_pv("eval { step() }; push @numbers, length $@ if $@", TRUE);
    if (i % 4 == 0) work_mix();
  }
  double result = SvNV(eval_pv("result()", TRUE));
  perl_destruct(my_perl);
  perl_free(my_perl);
  PERL_SYS_TERM();
  return work_end(result);
}
