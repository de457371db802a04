/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Windows are made and freed (src/tmpi/rma/create.c), as one member sees it: the others are
 * stand-ins. What members have in common lives until the last of them has freed its view.
 */
#include <stdlib.h>

#include "counted_blocks.h"
#include "tmpi/attr/attribute.h"
#include "tmpi/coll/coll.h"
#include "tmpi/error/errors.h"
#include "tmpi/object/info.h"
#include "window_calls.h"

enum { MEMBERS = 4, HERE = 2 /* of members on two nodes */, CONTEXT = 500, BYTES = 100 };

struct tm_type tm_predefined[TM_PREDEFINED_COUNT];
static struct tm_rank rank;
static struct tm_comm parent, made, here; /* here: the members of this node */
static struct tm_group group;
static struct tm_win others[MEMBERS];
static struct tm_win_common *common; /* that rank 0 of the node has made */
static char memory[BYTES];
static const char *apart; /* value of the info's key; NULL: it has none */
static int group_refs, comm_refs, info_copies, handler_refs, notes_there;
static bool info_is_wrong, fence_is_used;
static jmp_buf job_end;

/* ---- the other members */

void tm_barrier(struct tm_comm *comm, const char *call) {
  assert_ptr_equal(comm, &made);
  note("%s", call);
  if (common == NULL || made.rank != 0 || common->views[1] != NULL) return;
  for (int i = 1; i < made.size; i++) common->views[i] = &others[i];
}

void tm_bcast(struct tm_coll *coll, void *buffer, size_t count, struct tm_type *type, int root) {
  assert_true(coll->comm == (tm_comm_spans(&made) ? &here : &made) && root == 0);
  assert_true(count == sizeof common && type == tm_type_of(MPI_BYTE));
  if (coll->comm->rank == root)
    memcpy(&common, buffer, sizeof common);
  else
    memcpy(buffer, &common, sizeof common);
}

/* Each member tells where it is. */
void tm_allgather(struct tm_coll *coll, const struct tm_part *own, const struct tm_parts *all) {
  const struct tm_win_member *member = own->at;
  const struct tm_win *win = common->views[made.rank];
  assert_true(coll->comm == &made && own->count == sizeof *member && all->count == sizeof *member);
  assert_true(own->type == tm_type_of(MPI_BYTE) && all->type == own->type);
  assert_true(member->view == (uintptr_t)win && member->common == (uintptr_t)common);
  assert_true(member->base == (uintptr_t)memory && member->bytes == BYTES &&
              member->disp_unit == 8);
  for (int i = 0; i < MEMBERS; i++)
    ((struct tm_win_member *)all->base)[i] = (struct tm_win_member){.bytes = 10 + i};
}

/* ---- the rest of the library */

void tm_panic(const char *format, ...) {
  assert_non_null(format);
  longjmp(job_end, 1);
}

int tm_fail(struct tm_comm *comm, const char *call, int code, const char *format, ...) {
  assert_true(comm == &parent && call != NULL && format != NULL);
  return code;
}

int tm_get_comm(const char *call, MPI_Comm handle, struct tm_comm **comm) {
  assert_non_null(call);
  *comm = &parent;
  return handle == MPI_COMM_WORLD ? MPI_SUCCESS : MPI_ERR_COMM;
}

int tm_check_info(struct tm_comm *comm, const char *call, MPI_Info handle) {
  (void)handle;
  assert_true(comm == &parent && call != NULL);
  return info_is_wrong ? MPI_ERR_INFO : MPI_SUCCESS;
}

uint64_t tm_context_agree(struct tm_comm *comm, const char *call) {
  assert_true(comm == &parent && call != NULL);
  return CONTEXT;
}

struct tm_comm *tm_comm_new(uint64_t context, struct tm_group *of, struct tm_group *remote) {
  assert_true(context == CONTEXT && of == &group && remote == NULL);
  if (allocation_fails()) return NULL;
  made = parent;
  made.name[0] = '\0';
  comm_refs++;
  return &made;
}

void tm_comm_inherit(struct tm_comm *comm, const struct tm_comm *from) {
  assert_true(comm == &made && from == &parent);
  note("inherits");
}

void tm_comm_release(struct tm_comm *comm) {
  assert_ptr_equal(comm, &made);
  tm_group_release(&group);
  comm_refs--;
}

void tm_group_hold(struct tm_group *of) { group_refs += of == &group; }
void tm_group_release(struct tm_group *of) { group_refs -= of == &group; }

static struct tm_info *info(void) { return (struct tm_info *)&info_copies; }
struct tm_info *tm_info_of(MPI_Info handle) { return (struct tm_info *)handle; }

struct tm_info *tm_info_copy(const struct tm_info *of) {
  assert_ptr_equal(of, info());
  info_copies++;
  return info();
}

void tm_info_free(struct tm_info *of) { info_copies -= of != NULL; }

struct tm_info_entry *tm_info_find(const struct tm_info *of, const char *key) {
  static struct tm_info_entry entry;
  assert_ptr_equal(of, info());
  assert_string_equal(key, "alloc_shared_noncontig");
  entry.value = (char *)(uintptr_t)apart;
  return apart != NULL ? &entry : NULL;
}

struct tm_errhandler *tm_errhandler_fatal(void) {
  handler_refs++;
  return (struct tm_errhandler *)&handler_refs;
}

void tm_errhandler_release(struct tm_errhandler *handler) {
  handler_refs -= handler == (struct tm_errhandler *)&handler_refs;
}

int tm_attributes_delete(struct tm_attributes **attributes, void *object) {
  assert_true(*attributes == (void *)&rank && ((struct tm_win *)object)->magic == TM_WIN_MAGIC);
  note("attributes");
  return rank.number; /* a callback's answer */
}

struct tm_win_notes *tm_win_notes_new(void) {
  notes_there++;
  return (struct tm_win_notes *)&notes_there;
}

void tm_win_notes_free(struct tm_win_notes *notes) { notes_there -= notes != NULL; }

/* The handle is not valid from here on. */
void tm_win_regions_free(struct tm_win *win) {
  assert_int_equal(win->magic, 0);
  note("regions");
}

bool tm_win_fence_in_use(const struct tm_win *win) { return fence_is_used && win != NULL; }

/* ---- a member */

static int start(void **state) {
  (void)state;
  rank = (struct tm_rank){.number = MPI_SUCCESS, .stage = TM_INITIALIZED};
  parent = (struct tm_comm){
      .size = MEMBERS, .owner = &rank, .group = &group, .team = (struct tm_team *)&rank};
  here = (struct tm_comm){.size = HERE};
  memset(others, 0, sizeof others);
  common = NULL;
  apart = NULL;
  info_is_wrong = fence_is_used = false;
  group_refs = comm_refs = info_copies = handler_refs = notes_there = blocks = 0;
  allocations_left = -1;
  trace[0] = '\0';
  return 0;
}

static void over_nodes(void) {
  parent.team = NULL;
  parent.local_comm = &here;
}

/* Rank 0 of the node, which has made what members have in common. */
static void make_common(void) {
  common = aligned_alloc(TM_LINE, 2 * TM_LINE);
  assert_non_null(common);
  memset(common, 0, 2 * TM_LINE);
  common->size = MEMBERS;
  common->refs = 1;
}

static struct tm_win_making making(int flavor) {
  return (struct tm_win_making){.call = "MPI_X",
                                .flavor = flavor,
                                .base = memory,
                                .bytes = BYTES,
                                .disp_unit = 8,
                                .info = MPI_INFO_NULL,
                                .comm = MPI_COMM_WORLD};
}

static struct tm_win *make(int flavor) {
  const struct tm_win_making m = making(flavor);
  MPI_Win win = MPI_WIN_NULL;
  assert_int_equal(tm_call_win_create(&m, &win), MPI_SUCCESS);
  return (struct tm_win *)win;
}

static int free_window(struct tm_win *win) {
  MPI_Win handle = (MPI_Win)win;
  win->attributes = (void *)&rank;
  int error = PMPI_Win_free(&handle);
  assert_ptr_equal(handle, error == MPI_SUCCESS ? MPI_WIN_NULL : (MPI_Win)win);
  return error;
}

/* The last member frees, and nothing is left. */
static void free_last(struct tm_win *win) {
  common->refs = 1;
  assert_int_equal(free_window(win), MPI_SUCCESS);
  assert_true(blocks == 0 && group_refs == 0 && comm_refs == 0 && info_copies == 0);
  assert_true(handler_refs == 0 && notes_there == 0 && rank.windows_within == 0);
}

/* ---- making */

static void check_view(const struct tm_win *win) {
  assert_true(win->magic == TM_WIN_MAGIC && win->flavor == MPI_WIN_FLAVOR_CREATE);
  assert_true(win->model == MPI_WIN_UNIFIED && win->base == memory && win->bytes == BYTES);
  assert_true(win->disp_unit == 8 && win->exclusive_holder == -1 && win->info == NULL);
  assert_true(win->comm == &made && win->group == &group && win->common == common);
  assert_true(win->posts == (uint8_t *)(win + 1) && win->exposed == win->posts + MEMBERS &&
              win->access == win->exposed + MEMBERS);
  for (int i = 0; i < 3 * MEMBERS; i++) assert_int_equal(win->posts[i], 0);
  assert_true(handler_refs == 1 && group_refs == 2 && comm_refs == 1);
}

static void members_of_a_node_share_what_they_have_in_common(void **state) {
  (void)state;
  strcpy(parent.name, "g");
  struct tm_win *win = make(MPI_WIN_FLAVOR_CREATE);
  check_trace("inherits MPI_X ");
  check_view(win);
  assert_true(common->size == MEMBERS && common->refs == MEMBERS && common->far == NULL);
  assert_true(common->memory == NULL && common->views[0] == win && win->notes == NULL);
  assert_int_equal(rank.windows_within, 1);
  assert_string_equal(made.name, "a window of g");
  assert_int_equal(free_window(win), MPI_SUCCESS);
  check_trace("attributes MPI_Win_free regions ");
  assert_int_equal(common->refs, MEMBERS - 1);
  assert_int_equal(blocks, 1); /* the other members have it */
  assert_true(group_refs == 0 && comm_refs == 0 && handler_refs == 0 && rank.windows_within == 0);
  free(common);
}

static void a_later_member_joins_what_the_first_has_made(void **state) {
  (void)state;
  make_common();
  parent.rank = 2;
  struct tm_win *win = make(MPI_WIN_FLAVOR_CREATE);
  check_view(win);
  assert_true(common->views[2] == win && common->refs == 1);
  assert_string_equal(made.name, "a window of a communicator");
  free_last(win);
}

/* Each node has the members here, and one table of where all are. */
static void members_on_nodes_know_where_the_others_are(void **state) {
  (void)state;
  if (!MLTP_NODES) skip();
  for (int i = 0; i < HERE; i++) {
    start(NULL);
    over_nodes();
    here.rank = i;
    parent.rank = i == 0 ? 1 : 3;
    if (i > 0) make_common();
    struct tm_win *win = make(MPI_WIN_FLAVOR_CREATE);
    check_view(win);
    check_trace("inherits MPI_X ");
    assert_true(common->views[parent.rank] == win && rank.windows_within == 0);
    assert_true(notes_there == 1 && win->notes != NULL);
    if (i == 0) {
      assert_true(common->refs == HERE && common->size == MEMBERS);
      for (int member = 0; member < MEMBERS; member++)
        assert_int_equal(common->far[member].bytes, 10 + member);
    } else {
      assert_null(common->far);
    }
    common->refs = 1;
    assert_int_equal(free_window(win), MPI_SUCCESS);
    check_trace("attributes settles MPI_Win_free regions ");
    assert_true(blocks == 0 && notes_there == 0 && rank.windows_within == 0);
  }
}

/* ---- memory */

static bool begins_a_line(const void *at) { return (uintptr_t)at % TM_LINE == 0; }

static void allocated_memory_begins_a_line_and_is_zero(void **state) {
  const struct tm_win_making m = making(MPI_WIN_FLAVOR_ALLOCATE);
  MPI_Win handle;
  char *base = NULL;
  (void)state;
  assert_int_equal(tm_call_win_allocate(&m, &base, &handle), MPI_SUCCESS);
  struct tm_win *win = (struct tm_win *)handle;
  assert_true(base != memory && base == win->base && begins_a_line(base));
  for (int i = 0; i < BYTES; i++) assert_int_equal(base[i], 0);
  assert_true(win->memory != NULL && common->memory == NULL);
  memset(base, 1, BYTES);
  free_last(win);
}

static struct tm_win *make_shared(void) {
  others[1].bytes = 0;
  others[2].bytes = TM_LINE + 1;
  others[3].bytes = 1;
  struct tm_win_making m = making(MPI_WIN_FLAVOR_SHARED);
  m.info = apart != NULL ? (MPI_Info)info() : MPI_INFO_NULL;
  m.base = NULL;
  MPI_Win win;
  char *base = memory;
  assert_int_equal(tm_call_win_allocate(&m, &base, &win), MPI_SUCCESS);
  assert_ptr_equal(base, ((struct tm_win *)win)->base);
  return (struct tm_win *)win;
}

/* In the order of ranks without a gap, or each member's from the beginning of a line. */
static void the_first_member_lays_shared_memory_out(void **state) {
  static const char *const values[] = {NULL, "false", "true"};
  (void)state;
  for (int i = 0; i < 3; i++) {
    start(NULL);
    apart = values[i];
    struct tm_win *win = make_shared();
    check_trace("inherits MPI_X MPI_X MPI_X "); /* a barrier before and after */
    assert_true(begins_a_line(win->base) && common->memory != NULL && win->memory == NULL);
    assert_null(others[1].base); /* it has no memory */
    assert_ptr_equal(others[2].base, win->base + (i == 2 ? 2 * TM_LINE : BYTES));
    assert_ptr_equal(others[3].base, others[2].base + (i == 2 ? 2 * TM_LINE : TM_LINE + 1));
    assert_int_equal(info_copies, i > 0);
    memset(win->base, 1, (size_t)(others[3].base + 1 - win->base));
    free_last(win);
  }
}

static void a_later_member_finds_its_part_of_shared_memory(void **state) {
  (void)state;
  parent.rank = 1;
  make_common();
  common->memory = malloc(1);
  struct tm_win *win = make_shared();
  assert_null(win->base); /* rank 0 is a stand-in and has given none */
  free_last(win);
}

/* What a member leaves when it ends the job. */
static void free_what_is_left(void) {
  struct tm_win *win = common != NULL ? common->views[parent.rank] : NULL;
  if (win != NULL) free(win->memory);
  free(win);
  if (common != NULL) free(common->memory);
  free(common);
  assert_int_equal(blocks, 0);
}

static bool ends_the_job(int flavor) {
  if (setjmp(job_end) == 0) {
    free_last(make(flavor));
    return false;
  }
  allocations_left = -1;
  free_what_is_left();
  return true;
}

/* The others wait for this one, so the job ends where one has no memory. */
static void no_memory_ends_the_job(void **state) {
  static const struct {
    int flavor, needed; /* allocations, and a communicator */
    bool over_nodes, later;
  } cases[] = {
      {MPI_WIN_FLAVOR_CREATE, 3, false, false}, {MPI_WIN_FLAVOR_ALLOCATE, 4, false, false},
      {MPI_WIN_FLAVOR_SHARED, 4, false, false}, {MPI_WIN_FLAVOR_CREATE, 4, true, false},
      {MPI_WIN_FLAVOR_CREATE, 2, false, true},
  };
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    if (cases[i].over_nodes && !MLTP_NODES) continue;
    for (int left = 0; left <= cases[i].needed; left++) {
      start(NULL);
      if (cases[i].over_nodes) over_nodes();
      if (cases[i].later) {
        parent.rank = 1;
        make_common();
      }
      allocations_left = left;
      assert_int_equal(ends_the_job(cases[i].flavor), left < cases[i].needed);
    }
  }
  start(NULL);
  parent.rank = 1; /* and the first one has none */
  assert_true(ends_the_job(MPI_WIN_FLAVOR_CREATE));
}

/* ---- what is refused */

static void check_wrong(struct tm_win_making m, int expected) {
  MPI_Win win = MPI_WIN_NULL;
  char *base = memory;
  assert_int_equal(tm_call_win_create(&m, &win), expected);
  assert_int_equal(tm_call_win_allocate(&m, &base, &win), expected);
  assert_true(win == MPI_WIN_NULL && base == memory && blocks == 0 && comm_refs == 0);
}

static void wrong_arguments_make_nothing(void **state) {
  struct tm_win_making m = making(MPI_WIN_FLAVOR_CREATE);
  (void)state;
  m.comm = MPI_COMM_NULL;
  check_wrong(m, MPI_ERR_COMM);
  m = making(MPI_WIN_FLAVOR_CREATE);
  m.bytes = -1;
  check_wrong(m, MPI_ERR_SIZE);
  m = making(MPI_WIN_FLAVOR_CREATE);
  m.disp_unit = 0;
  check_wrong(m, MPI_ERR_DISP);
  m.disp_unit = (MPI_Aint)INT32_MAX + 1;
  check_wrong(m, MPI_ERR_DISP);
  m.disp_unit = 1;
  info_is_wrong = true;
  check_wrong(m, MPI_ERR_INFO);
  info_is_wrong = false;
  parent.inter = true;
  check_wrong(m, MPI_ERR_COMM);
  parent.inter = false;
  if (!MLTP_NODES) return;
  over_nodes();
  check_wrong(making(MPI_WIN_FLAVOR_SHARED), MPI_ERR_RMA_SHARED);
}

/* No byte is enough, and a unit may be as large as an int. */
static void sizes_at_their_limits(void **state) {
  struct tm_win_making m = making(MPI_WIN_FLAVOR_ALLOCATE);
  MPI_Win win;
  char *base = NULL;
  (void)state;
  m.bytes = 0;
  m.disp_unit = INT32_MAX;
  assert_int_equal(tm_call_win_allocate(&m, &base, &win), MPI_SUCCESS);
  assert_true(((struct tm_win *)win)->disp_unit == INT32_MAX && base != NULL);
  free_last((struct tm_win *)win);
  m.disp_unit = 1;
  common = NULL;
  assert_int_equal(tm_call_win_allocate(&m, &base, &win), MPI_SUCCESS);
  free_last((struct tm_win *)win);
}

static void check_open(struct tm_win *win, const char *why) {
  char expected[100];
  snprintf(expected, sizeof expected, "[%s] ", why);
  assert_int_equal(free_window(win), MPI_ERR_RMA_SYNC);
  check_trace(expected);
}

static void a_window_with_an_open_epoch_is_kept(void **state) {
  (void)state;
  struct tm_win *win = make(MPI_WIN_FLAVOR_CREATE);
  trace[0] = '\0';
  win->locked = 1;
  check_open(win, "the origin still holds a lock (MPI_Win_unlock())");
  win->locked = 0;
  win->all_locked = true;
  check_open(win, "the origin still holds a lock (MPI_Win_unlock_all())");
  win->all_locked = false;
  win->start = &group;
  check_open(win, "MPI_Win_start() has no MPI_Win_complete() yet");
  win->start = NULL;
  win->post = &group;
  check_open(win, "MPI_Win_post() has no MPI_Win_wait() yet");
  win->post = NULL;
  fence_is_used = true;
  check_open(win, "there were accesses since the last MPI_Win_fence()");
  fence_is_used = false;
  rank.number = MPI_ERR_OTHER;
  assert_int_equal(free_window(win), MPI_ERR_OTHER); /* a callback has refused */
  rank.number = MPI_SUCCESS;
  assert_int_equal(rank.windows_within, 1);
  free_last(win);
}

static void what_is_no_window_is_refused(void **state) {
  struct tm_win *win = make(MPI_WIN_FLAVOR_CREATE);
  (void)state;
  win->magic = 0;
  trace[0] = '\0';
  assert_int_equal(free_window(win), MPI_ERR_WIN);
  check_trace("refused ");
  win->magic = TM_WIN_MAGIC;
  free_last(win);
}

#define WINDOW(test) cmocka_unit_test_setup(test, start)

int main(void) {
  const struct CMUnitTest tests[] = {
      WINDOW(members_of_a_node_share_what_they_have_in_common),
      WINDOW(a_later_member_joins_what_the_first_has_made),
      WINDOW(members_on_nodes_know_where_the_others_are),
      WINDOW(allocated_memory_begins_a_line_and_is_zero),
      WINDOW(the_first_member_lays_shared_memory_out),
      WINDOW(a_later_member_finds_its_part_of_shared_memory),
      WINDOW(no_memory_ends_the_job),
      WINDOW(wrong_arguments_make_nothing),
      WINDOW(sizes_at_their_limits),
      WINDOW(a_window_with_an_open_epoch_is_kept),
      WINDOW(what_is_no_window_is_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
