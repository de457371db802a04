/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a node joins the others: which processes meet, whether the job can run, what each message
 * says, and in which order a node waits, parts and ends. The module of nodes is a stand-in, and so
 * are the machine and the launcher.
 */
#include <dlfcn.h>
#include <errno.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "captured.h"
#include "core/internal/process.h"
#include "mltp/mltp.h"
#include "noted_events.h"
#include "os/os.h"
#include "tmpi/env/launch.h"
#include "tmpi/nodes/nodes.h"
#include "tmpi/rank/rank.h"
#include "tmpi/run/joined.h"
#include "tmpi/run/modules.h"
#include "tmpi/run/process.h"

enum { TEXT = 4096, NODES = 4, RANKS = 12, QUOTA = 100, TASKS = 3, MORE_TASKS = 5, MARK = 70 };

#define WAIT_NS 5000000000 /* for the launcher to read */

/* ---- the machine and the launcher */

static int quota, tasks, late_calls;
static bool has_boot_id, has_cpus;
static const char *several; /* the variable that counts processes; NULL: the launcher has none */
static bool several_needs_pmix; /* it is of a launcher with PMIx */
static bool has_module, starts, connects, ends;
static enum tm_met met;
static struct tm_node nodes_list[NODES]; /* what the nodes say of themselves */
static struct tm_node own_node;          /* what this one said */
static int nodes_size, nodes_own;
static void *kept_list, *given_list; /* that the last job has; that meet() has made */

void os_wait_read(int fd, uint64_t ns) {
  assert_int_equal(fd, STDERR_FILENO);
  assert_int_equal(ns, WAIT_NS);
  note("wait ");
}

int os_read_text(const char *path, char *text, size_t size) {
  assert_string_equal(path, "/proc/sys/kernel/random/boot_id");
  assert_int_equal(size, TM_NODE_TEXT);
  strcpy(text, "boot");
  return has_boot_id ? 0 : ENOENT;
}

int os_cpu_quota(void) { return quota; }

int os_task_count(void) {
  int count = tasks;
  tasks += MORE_TASKS;
  return count;
}

int gethostname(char *name, size_t size) {
  assert_int_equal(size, TM_NODE_TEXT - 1);
  strcpy(name, "here");
  return 0;
}

int sched_getaffinity(pid_t pid, size_t size, cpu_set_t *cpus) {
  assert_int_equal(pid, 0);
  assert_int_equal(size, sizeof *cpus);
  CPU_ZERO(cpus);
  CPU_SET(1, cpus);
  CPU_SET(2, cpus);
  return has_cpus ? 0 : -1;
}

const char *mltp_version(void) { return "1.2"; }
uint64_t tm_job_new_mark(void) { return MARK; }
const char *tm_launch_several(bool with_pmix) {
  return with_pmix || !several_needs_pmix ? several : NULL;
}

void mti_add_bystanders(uint32_t more) { note("bystanders %u ", more); }

__attribute__((noreturn)) void tm_watch_late(void) { abort(); }

void tm_job_tell(int status, const char *format, ...) {
  char text[TM_NODE_WHY];
  va_list values;
  va_start(values, format);
  vsnprintf(text, sizeof text, format, values);
  va_end(values);
  note("tell %d %s ", status, text);
}

/* ---- the module */

static enum tm_met meet(struct tm_node *own, int seconds, struct tm_nodes *nodes, char *why,
                        size_t room) {
  assert_int_equal(seconds, 60);
  assert_int_equal(room, TM_NODE_WHY);
  assert_int_equal(nodes->size, 1);
  free(kept_list);
  kept_list = given_list = NULL;
  own_node = *own;
  note("meet ");
  snprintf(why, room, "NO REASON");
  if (met != TM_MET) return met;
  *nodes = (struct tm_nodes){.size = nodes_size, .own = nodes_own};
  if (nodes_size == 1) return met;
  nodes->list = given_list = malloc(sizeof nodes_list + sizeof *nodes_list);
  assert_non_null(nodes->list);
  memcpy(nodes->list, nodes_list, sizeof nodes_list);
  nodes->list[NODES] = nodes_list[nodes_own]; /* which nobody may look at */
  strcpy(nodes->list[NODES].option, "none");
  strcpy(nodes->list[NODES].version, "9");
  CPU_SET(99, &nodes->list[NODES].cpus);
  return met;
}

static void part(int seconds) { note("part %d ", seconds); }
static bool join_others(const struct tm_nodes *nodes, int seconds, char *why, size_t room) {
  assert_int_equal(nodes->size, nodes_size);
  assert_int_equal(nodes->own, nodes_own);
  note("connect %d ", seconds);
  snprintf(why, room, "NO WIRE");
  return connects;
}

static bool begin(int seconds, void (*late)(void), char *why, size_t room) {
  assert_ptr_equal(late, tm_watch_late);
  note("start %d ", seconds);
  snprintf(why, room, "NO THREAD");
  return starts;
}

static void on_late(void) { late_calls++; }
static bool end(char *why, size_t room) {
  note("end ");
  snprintf(why, room, "NO ANSWER");
  return ends;
}

static void leave(int seconds) { note("leave %d ", seconds); }

static const char counts[] = "counts";

static void send_counts(const void *data, size_t bytes) {
  assert_ptr_equal(data, counts);
  note("send %zu ", bytes);
}

static void *take_counts(int node, bool waits, size_t *bytes) {
  note("take %d %d ", node, waits);
  *bytes = sizeof counts;
  return nodes_list;
}

static const void *refusal(const char *name) {
  note("refuse %s ", name);
  return counts;
}

static const struct tm_nodes_module module = {.meet = meet,
                                              .part = part,
                                              .connect = join_others,
                                              .start = begin,
                                              .late = on_late,
                                              .send_counts = send_counts,
                                              .take_counts = take_counts,
                                              .end = end,
                                              .leave = leave,
                                              .refusal = refusal};

const void *tm_module(const char *name, const char *symbol) {
  assert_string_equal(name, "nodes");
  assert_string_equal(symbol, "tm_nodes_module");
  note("load ");
  if (has_module) return &module;
  assert_null(dlopen("/there/is/no/nodes.so", RTLD_NOW));
  return NULL;
}

/* ---- */

/* Four nodes on two machines, each with a CPU of its own. */
static int prepare(void **state) {
  (void)state;
  setenv("PMIX_NAMESPACE", "job", 1);
  setenv("PMIX_RANK", "0", 1);
  setenv("COUNT", "7", 1);
  unsetenv(TM_JOB);
  unsetenv("MLTP_SPIN_US");
  events[0] = '\0';
  quota = QUOTA;
  tasks = TASKS;
  several = NULL;
  several_needs_pmix = false;
  has_boot_id = has_cpus = has_module = starts = connects = ends = true;
  met = TM_MET;
  nodes_size = NODES;
  nodes_own = late_calls = 0;
  memset(nodes_list, 0, sizeof nodes_list);
  for (int i = 0; i < NODES; i++) {
    struct tm_node *node = &nodes_list[i];
    *node = (struct tm_node){.version = "1.2", .program = "prog", .ranks = RANKS, .mark = 80 + i};
    snprintf(node->host, sizeof node->host, "host%d", i);
    snprintf(node->machine, sizeof node->machine, "machine%d", i / 2);
    CPU_SET(i, &node->cpus);
  }
  return 0;
}

static const struct tm_asked asked = {.ranks = RANKS, .program = "/some/folder/prog"};
static struct tm_joined joined;

/* Starts. Returns what was printed. */
static const char *started(bool expected) {
  static char said[TEXT];
  struct captured captured = captured_begin();
  bool may_run = tm_joined_start(&asked, &joined);
  captured_end(&captured, said, sizeof said);
  if (may_run) kept_list = given_list; /* otherwise it is free */
  if (may_run != expected) fail_msg("%s: %s", may_run ? "may run" : "may not run", said);
  return said;
}

static void check_start(bool may_run, const char *message, const char *order) {
  assert_string_equal(started(may_run), message);
  assert_string_equal(events, order);
}

static void check_alone(void) {
  int own = -1;
  assert_int_equal(joined.first, 0);
  assert_int_equal(joined.local, RANKS);
  assert_true(joined.cpus == 0 && joined.mark == 0);
  assert_int_equal(tm_joined_nodes(&own), 1);
  assert_int_equal(own, 0);
  events[0] = '\0';
  assert_true(tm_joined_begin());
  assert_null(tm_joined_override("MPI_Send"));
  tm_joined_late();
  tm_joined_leave(true);
  assert_int_equal(tm_joined_end(3), 3);
  tm_joined_leave(true);
  check_events("");
}

static void without_a_launcher_a_process_is_a_job(void **state) {
  static const char *const variables[] = {"PMIX_NAMESPACE", "PMIX_RANK", TM_JOB};
  for (int i = 0; i < 3; i++) {
    prepare(state);
    if (i < 2)
      unsetenv(variables[i]);
    else
      setenv(variables[i], "1", 1); /* a rank has started it */
    check_start(true, "", "");
    check_alone();
  }
}

static void several_processes_without_pmix_are_refused(void **state) {
  static const char wanted[] =
      "tmpirun: the launcher has started 7 processes of one job, and each would be a job of its "
      "own: it offers no PMIx, as mpirun of Open MPI, prterun and srun --mpi=pmix do (for jobs of "
      "their own: env -u COUNT tmpirun)\n";
  (void)state;
  unsetenv("PMIX_RANK");
  several = "COUNT";
  check_start(false, wanted, "");
  several_needs_pmix = true; /* but its variables of PMIx are not there */
  check_start(true, "", "");
  several_needs_pmix = false;
  setenv(TM_JOB, "1", 1);
  check_start(true, "", "");
}

static void a_launcher_with_pmix_that_cannot_be_used(void **state) {
  static const struct {
    enum tm_met met;
    bool has_module, is_several, may_run;
    const char *message, *order;
  } all[] = {
      {TM_NO_PMIX, true, false, true,
       "tmpirun: warning: this process is a job of its own, although the launcher may have started "
       "others: NO REASON\n",
       "load meet "},
      {TM_NO_PMIX, true, true, false,
       "tmpirun: the launcher has started 7 processes of one job, and each would be a job of its "
       "own: NO REASON (for jobs of their own: env -u COUNT tmpirun)\n",
       "load meet "},
      {TM_NO_SERVER, true, true, true,
       "tmpirun: warning: this process is a job of its own, although the launcher may have started "
       "others: NO REASON\n",
       "load meet "},
      {TM_NOT_MET, true, true, false,
       "tmpirun: the nodes of this job do not find each other: NO REASON (for a job of this "
       "process "
       "alone: env -u PMIX_NAMESPACE tmpirun)\n",
       "load meet wait "},
      {TM_MET, true, true, true, "", "load meet "},
  };
  for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
    prepare(state);
    met = all[i].met;
    has_module = all[i].has_module;
    several = all[i].is_several ? "COUNT" : NULL;
    several_needs_pmix = true;
    nodes_size = 1;
    check_start(all[i].may_run, all[i].message, all[i].order);
    if (all[i].may_run) check_alone();
  }
}

static void a_module_that_is_not_there(void **state) {
  (void)state;
  has_module = false;
  const char *said = started(true);
  assert_non_null(strstr(said, "warning: this process is a job of its own"));
  assert_non_null(strstr(said, "/there/is/no/nodes.so"));
  assert_non_null(strstr(said, "(build with libpmix-dev and libucx-dev)\n"));
  check_events("load ");
  check_alone();
  several = "COUNT";
  several_needs_pmix = true;
  started(false);
}

static void a_node_says_what_it_is(void **state) {
  (void)state;
  static const struct tm_asked other = {
      .ranks = 5, .program = "prog", .option = "--one", .check = true, .report = true};
  nodes_size = 1;
  started(true);
  assert_string_equal(own_node.host, "here");
  assert_string_equal(own_node.machine, "boot");
  assert_string_equal(own_node.version, "1.2");
  assert_string_equal(own_node.program, "prog");
  assert_string_equal(own_node.option, "");
  assert_string_equal(own_node.no_transport, "");
  assert_true(own_node.ranks == RANKS && own_node.mark == MARK);
  assert_false(own_node.check || own_node.report);
  assert_int_equal(CPU_COUNT(&own_node.cpus), 2);
  has_boot_id = has_cpus = false;
  assert_true(tm_joined_start(&other, &joined));
  assert_string_equal(own_node.machine, "");
  assert_string_equal(own_node.program, "prog");
  assert_string_equal(own_node.option, "--one");
  assert_int_equal(own_node.ranks, 5);
  assert_true(own_node.check && own_node.report);
  assert_int_equal(CPU_COUNT(&own_node.cpus), 0);
}

/* ---- jobs that cannot run */

/* Node 0 prints; all wait for the launcher before they part. */
static void check_refused(const char *message) {
  static const char order[] = "load meet wait part 60 ";
  check_start(false, message, order);
  events[0] = '\0';
  nodes_own = NODES - 1;
  check_start(false, "", order);
}

static void nodes_that_differ_do_not_run(void **state) {
  static const char *const words[] = {"versions", "programs", "values of -n", "words for --check",
                                      "words for --report"};
  for (int node = 1; node < NODES; node++)
    for (int what = 0; what < 5; what++) {
      char expected[TEXT];
      prepare(state);
      struct tm_node *differs = &nodes_list[node];
      if (what == 0) strcpy(differs->version, "1.3");
      if (what == 1) strcpy(differs->program, "gorp");
      if (what == 2) differs->ranks = 8;
      if (what == 3) differs->check = true;
      if (what == 4) differs->report = true;
      snprintf(
          expected, sizeof expected,
          "tmpirun: nodes 0 (host0) and %d (host%d) have different %s: tmpirun 1.2 -n 12 prog, "
          "tmpirun %s -n %d %s (give all nodes the same)\n",
          node, node, words[what], differs->version, differs->ranks, differs->program);
      check_refused(expected);
    }
}

static void ranks_that_cannot_be_divided_do_not_run(void **state) {
  for (int size = 2; size <= NODES; size++) {
    char expected[TEXT];
    prepare(state);
    nodes_size = size;
    for (int i = 0; i < NODES; i++) nodes_list[i].ranks = RANKS + 1;
    snprintf(expected, sizeof expected,
             "tmpirun: -n 13: the launcher has started %d nodes, and each must have as many ranks "
             "(choose a multiple of %d)\n",
             size, size);
    check_start(false, expected, "load meet wait part 60 ");
  }
}

static void a_node_that_cannot_take_part_is_named(void **state) {
  for (int node = 0; node < NODES; node++) {
    char expected[TEXT];
    prepare(state);
    strcpy(nodes_list[node].option, "-");
    strcpy(nodes_list[NODES - 1].no_transport, "?");
    snprintf(expected, sizeof expected,
             "tmpirun: node %d (host%d): - is not available in a job of 4 nodes (leave it "
             "out)\n",
             node, node);
    check_refused(expected);
    prepare(state);
    strcpy(nodes_list[node].no_transport, "?");
    snprintf(expected, sizeof expected,
             "tmpirun: node %d (host%d) cannot carry messages to other nodes: ?\n", node, node);
    check_refused(expected);
  }
}

static void a_node_that_cannot_connect_tells_the_others(void **state) {
  (void)state;
  connects = false;
  nodes_own = 2;
  check_start(false,
              "tmpirun: node 2 (host2) cannot connect to the other nodes: NO WIRE (UCX_TLS, "
              "UCX_NET_DEVICES)\n",
              "load meet connect 60 tell 1 it cannot connect to the other nodes: NO WIRE wait ");
  assert_null(getenv("MLTP_SPIN_US"));
}

/* ---- jobs that run */

static void each_node_has_its_ranks(void **state) {
  for (int node = 0; node < NODES; node++) {
    int own = -1;
    prepare(state);
    nodes_own = node;
    check_start(true, "", "load meet connect 60 ");
    assert_int_equal(joined.first, 3 * node);
    assert_int_equal(joined.local, 3);
    assert_int_equal(joined.mark, 80);
    assert_int_equal(tm_joined_nodes(&own), NODES);
    assert_int_equal(own, node);
    assert_string_equal(tm_joined_host(node), nodes_list[node].host);
  }
}

static void cpus_of_a_machine_are_counted_once(void **state) {
  (void)state;
  started(true);
  assert_int_equal(joined.cpus, 4);
  CPU_SET(0, &nodes_list[1].cpus); /* which node 0 has, too */
  started(true);
  assert_int_equal(joined.cpus, 4);
  CPU_SET(0, &nodes_list[2].cpus); /* of another machine */
  CPU_SET(9, &nodes_list[2].cpus);
  started(true);
  assert_int_equal(joined.cpus, 6);
  for (int i = 0; i < NODES; i++) {
    strcpy(nodes_list[i].machine, "one");
    CPU_ZERO(&nodes_list[i].cpus);
    CPU_SET(5, &nodes_list[i].cpus);
  }
  started(true);
  assert_int_equal(joined.cpus, 1);
  for (int i = 0; i < NODES; i++) nodes_list[i].machine[0] = '\0'; /* not known */
  started(true);
  assert_int_equal(joined.cpus, 4);
}

static void check_search(const char *expected) {
  unsetenv("MLTP_SPIN_US");
  started(true);
  const char *search = getenv("MLTP_SPIN_US");
  if (expected == NULL)
    assert_null(search);
  else
    assert_string_equal(search, expected);
}

static void crowded_nodes_search_briefly(void **state) {
  (void)state;
  check_search(NULL); /* two nodes here, two CPUs */
  quota = 2;
  check_search(NULL);
  quota = 1;
  check_search("10");
  quota = QUOTA;
  nodes_list[1].cpus = nodes_list[0].cpus;
  check_search("10");
  nodes_own = 2; /* it is not crowded there */
  check_search(NULL);
  nodes_own = 1;
  check_search("10");
  CPU_SET(7, &nodes_list[0].cpus);
  check_search(NULL);
  nodes_list[0].machine[0] = nodes_list[1].machine[0] = '\0';
  quota = 1;
  check_search(NULL); /* which nodes are on this machine is not known */
  quota = QUOTA;
  for (int i = 0; i < NODES; i++) {
    strcpy(nodes_list[i].machine, "one");
    CPU_ZERO(&nodes_list[i].cpus);
  }
  check_search(NULL); /* or which CPUs there are */
  CPU_SET(1, &nodes_list[3].cpus);
  check_search("10");
  setenv("MLTP_SPIN_US", "77", 1); /* the user's */
  started(true);
  assert_string_equal(getenv("MLTP_SPIN_US"), "77");
}

static void what_a_node_does_for_its_job(void **state) {
  char said[TEXT];
  size_t bytes = 0;
  (void)state;
  started(true);
  events[0] = '\0';
  tm_joined_send_counts(counts, 5);
  assert_ptr_equal(tm_joined_override("MPI_Send"), counts);
  assert_ptr_equal(tm_joined_override("PMPI_Send"), counts);
  assert_null(tm_joined_override("MPIX_Send"));
  assert_null(tm_joined_override("PMPIX_Send"));
  assert_null(tm_joined_override("malloc"));
  tm_joined_late();
  assert_int_equal(late_calls, 1);
  check_events("send 5 refuse MPI_Send refuse PMPI_Send ");
  assert_true(tm_joined_begin());
  check_events("bystanders 6 start 60 ");
  starts = false;
  struct captured captured = captured_begin();
  bool begun = tm_joined_begin();
  captured_end(&captured, said, sizeof said);
  assert_false(begun);
  assert_string_equal(said,
                      "tmpirun: this node cannot begin with the others: NO THREAD (see their "
                      "messages)\n");
  assert_string_equal(
      events, "bystanders 6 start 60 tell 1 it cannot begin with the others: NO THREAD wait ");
  events[0] = '\0';
  ends = false;
  for (int status = 0; status < 3; status++) {
    captured = captured_begin();
    int ended = tm_joined_end(status);
    captured_end(&captured, said, sizeof said);
    assert_int_equal(ended, status == 0 ? 1 : status);
    assert_string_equal(said,
                        "tmpirun: the job has not ended on all nodes: NO ANSWER (see their "
                        "messages)\n");
    check_events("end wait ");
  }
  tm_joined_leave(true);
  assert_ptr_equal(tm_joined_take_counts(2, &bytes), nodes_list);
  check_events("take 2 0 ");
  ends = true;
  for (int status = 0; status < 3; status++) assert_int_equal(tm_joined_end(status), status);
  tm_joined_take_counts(1, &bytes);
  tm_joined_leave(true);
  tm_joined_leave(false);
  check_events("end end end take 1 1 leave 10 leave 0 ");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup(without_a_launcher_a_process_is_a_job, prepare),
      cmocka_unit_test_setup(several_processes_without_pmix_are_refused, prepare),
      cmocka_unit_test_setup(a_launcher_with_pmix_that_cannot_be_used, prepare),
      cmocka_unit_test_setup(a_module_that_is_not_there, prepare),
      cmocka_unit_test_setup(a_node_says_what_it_is, prepare),
      cmocka_unit_test_setup(nodes_that_differ_do_not_run, prepare),
      cmocka_unit_test_setup(ranks_that_cannot_be_divided_do_not_run, prepare),
      cmocka_unit_test_setup(a_node_that_cannot_take_part_is_named, prepare),
      cmocka_unit_test_setup(a_node_that_cannot_connect_tells_the_others, prepare),
      cmocka_unit_test_setup(each_node_has_its_ranks, prepare),
      cmocka_unit_test_setup(cpus_of_a_machine_are_counted_once, prepare),
      cmocka_unit_test_setup(crowded_nodes_search_briefly, prepare),
      cmocka_unit_test_setup(what_a_node_does_for_its_job, prepare),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
