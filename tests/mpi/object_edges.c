/* SPDX-License-Identifier: Apache-2.0 */
/* The edges of infos, error codes, error handlers and tools: the longest keys and values, room for
 * less than there is, codes that are in use or were removed, handlers of another kind of object,
 * indices behind the last. One rank. */
#include <string.h>

#include "check.h"

/* ---- infos */

static void lengths(void) {
  char key[MPI_MAX_INFO_KEY + 1], value[MPI_MAX_INFO_VAL + 1], got[MPI_MAX_INFO_VAL + 1];
  int length, flag;
  MPI_Info info;
  memset(key, 'k', sizeof key);
  memset(value, 'v', sizeof value);
  MPI_Info_create(&info);
  key[MPI_MAX_INFO_KEY] = value[MPI_MAX_INFO_VAL] = '\0';
  EXPECT(MPI_ERR_INFO_KEY, MPI_Info_set(info, key, "value"));
  EXPECT(MPI_ERR_INFO_KEY, MPI_Info_get(info, key, 1, got, &flag));
  EXPECT(MPI_ERR_INFO_KEY, MPI_Info_get_valuelen(info, key, &length, &flag));
  EXPECT(MPI_ERR_INFO_KEY, MPI_Info_get_string(info, key, &length, got, &flag));
  EXPECT(MPI_ERR_INFO_KEY, MPI_Info_delete(info, key));
  EXPECT(MPI_ERR_INFO_KEY, MPI_Info_set(info, NULL, "value"));
  EXPECT(MPI_ERR_INFO_VALUE, MPI_Info_set(info, "key", value));
  EXPECT(MPI_ERR_INFO_VALUE, MPI_Info_set(info, "key", NULL));
  key[MPI_MAX_INFO_KEY - 1] = value[MPI_MAX_INFO_VAL - 1] = '\0';
  EXPECT(MPI_SUCCESS, MPI_Info_set(info, key, value));
  EXPECT(MPI_SUCCESS, MPI_Info_get(info, key, MPI_MAX_INFO_VAL - 1, got, &flag));
  CHECK(flag && strcmp(got, value) == 0);
  EXPECT(MPI_SUCCESS, MPI_Info_get_nthkey(info, 0, got));
  CHECK(strcmp(got, key) == 0);
  EXPECT(MPI_ERR_ARG, MPI_Info_get_nthkey(info, 1, got));
  EXPECT(MPI_ERR_ARG, MPI_Info_get_nthkey(info, -1, got));
  EXPECT(MPI_SUCCESS, MPI_Info_delete(info, key));
  EXPECT(MPI_ERR_INFO_NOKEY, MPI_Info_delete(info, key));
  MPI_Info_free(&info);
}

/* What does not fit is cut, and nothing is written behind it. */
static void rooms(void) {
  static const char value[] = "12345";
  char got[16];
  int length, flag;
  MPI_Info info;
  MPI_Info_create(&info);
  MPI_Info_set(info, "key", value);
  for (int room = 0; room < 8; room++) {
    int fits = room < 5 ? room : 5;
    memset(got, '#', sizeof got);
    EXPECT(MPI_SUCCESS, MPI_Info_get(info, "key", room, got, &flag));
    CHECK(flag && memcmp(got, value, (size_t)fits) == 0 && got[fits] == '\0');
    CHECK(got[fits + 1] == '#');
    memset(got, '#', sizeof got);
    length = room; /* with the null character */
    EXPECT(MPI_SUCCESS, MPI_Info_get_string(info, "key", &length, got, &flag));
    fits = room > 6 ? 6 : room;
    CHECK(flag && length == 6 && (fits == 0 || got[fits - 1] == '\0') && got[fits] == '#');
    CHECK(fits == 0 || memcmp(got, value, (size_t)fits - 1) == 0);
  }
  EXPECT(MPI_SUCCESS, MPI_Info_get_valuelen(info, "key", &length, &flag));
  CHECK(flag && length == 5);
  length = 77;
  EXPECT(MPI_SUCCESS, MPI_Info_get_valuelen(info, "none", &length, &flag));
  CHECK(!flag && length == 77);
  EXPECT(MPI_SUCCESS, MPI_Info_get_string(info, "none", &length, got, &flag));
  CHECK(!flag && length == 77);
  EXPECT(MPI_SUCCESS, MPI_Info_get(info, "none", 5, got, &flag));
  CHECK(!flag);
  MPI_Info_free(&info);
  CHECK(info == MPI_INFO_NULL);
}

/* ---- many keys, set and deleted in any order: each has its value, and they are numbered in the
 * order in which they came */

enum { KEYS = 60, STEPS = 4000 };

struct model {
  int count, keys[KEYS], values[KEYS];
};

static int find(const struct model *model, int key) {
  int at = 0;
  while (at < model->count && model->keys[at] != key) at++;
  return at;
}

static void same_as(MPI_Info info, const struct model *model) {
  char name[16], got[MPI_MAX_INFO_VAL];
  int count, flag, length = sizeof got;
  MPI_Info_get_nkeys(info, &count);
  CHECK(count == model->count);
  for (int i = 0; i < count; i++) {
    MPI_Info_get_nthkey(info, i, got);
    CHECK(atoi(got + 3) == model->keys[i]);
  }
  for (int key = 0; key < KEYS; key++) {
    int at = find(model, key);
    snprintf(name, sizeof name, "key%d", key);
    MPI_Info_get_string(info, name, &length, got, &flag);
    CHECK(flag == (at < model->count));
    if (flag) CHECK(atoi(got) == model->values[at]);
    length = sizeof got;
  }
}

static void many_keys(void) {
  struct model model = {0};
  unsigned state = 1;
  char name[16], value[16];
  MPI_Info info, copy;
  MPI_Info_create(&info);
  for (int step = 0; step < STEPS; step++) {
    state = state * 1103515245 + 12345;
    int key = (int)(state >> 16) % KEYS, at = find(&model, key);
    snprintf(name, sizeof name, "key%d", key);
    snprintf(value, sizeof value, "%d", step);
    int grows = step / 500 % 2 == 0, sets = (state >> 8) % 4 < (grows ? 3 : 1);
    if (sets) {
      MPI_Info_set(info, name, value);
      if (at == model.count) model.count++;
      model.keys[at] = key;
      model.values[at] = step;
    } else {
      EXPECT(at < model.count ? MPI_SUCCESS : MPI_ERR_INFO_NOKEY, MPI_Info_delete(info, name));
      for (int i = at; i + 1 < model.count; i++) {
        model.keys[i] = model.keys[i + 1];
        model.values[i] = model.values[i + 1];
      }
      if (at < model.count) model.count--;
    }
    if (step % 7 != 0) continue;
    same_as(info, &model);
    MPI_Info_dup(info, &copy);
    same_as(copy, &model);
    MPI_Info_free(&copy);
  }
  MPI_Info_free(&info);
}

/* ---- error codes */

static int last_used(void) {
  int *last, flag;
  MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_LASTUSEDCODE, (void *)&last, &flag);
  CHECK(flag);
  return *last;
}

/* @return a code's text; NULL: it is none. */
static const char *text_of(int code) {
  static char text[MPI_MAX_ERROR_STRING];
  int length;
  int error = MPI_Error_string(code, text, &length);
  if (error != MPI_SUCCESS) {
    EXPECT(MPI_ERR_ARG, error);
    return NULL;
  }
  CHECK(strlen(text) == (size_t)length);
  return text;
}

/* Each class of the standard has a text of its own. */
static void classes(void) {
  static char texts[MPI_ERR_ABI + 1][MPI_MAX_ERROR_STRING];
  int class;
  for (int code = 0; code <= MPI_ERR_ABI; code++) {
    const char *text = text_of(code);
    CHECK(text != NULL && text[0] != '\0' && strstr(text, "null") == NULL);
    strcpy(texts[code], text);
    for (int other = 0; other < code; other++) CHECK(strcmp(texts[other], text) != 0);
    EXPECT(MPI_SUCCESS, MPI_Error_class(code, &class));
    CHECK(class == code);
  }
  CHECK(text_of(MPI_ERR_ABI + 1) == NULL && text_of(-1) == NULL);
  EXPECT(MPI_ERR_ARG, MPI_Error_class(MPI_ERR_ABI + 1, &class));
}

static void added(void) {
  int first, second, code, more, class;
  CHECK(last_used() == MPI_ERR_LASTCODE);
  MPI_Add_error_class(&first);
  MPI_Add_error_class(&second);
  CHECK(first == MPI_ERR_LASTCODE + 1 && second == first + 1 && last_used() == second);
  EXPECT(MPI_ERR_ARG, MPI_Error_class(second + 1, &class));
  MPI_Add_error_code(first, &code);
  MPI_Add_error_code(MPI_ERR_TAG, &more);
  CHECK(last_used() == more);
  EXPECT(MPI_SUCCESS, MPI_Error_class(code, &class));
  CHECK(class == first);
  EXPECT(MPI_SUCCESS, MPI_Error_class(more, &class));
  CHECK(class == MPI_ERR_TAG);
  EXPECT(MPI_ERR_ARG, MPI_Add_error_code(more + 1, &class));
  EXPECT(MPI_ERR_ARG, MPI_Add_error_string(more + 1, "text"));
  EXPECT(MPI_ERR_ARG, MPI_Add_error_string(code, NULL));
  CHECK(strcmp(text_of(code), "") == 0);
  EXPECT(MPI_ERR_ARG, MPI_Remove_error_string(code));
  MPI_Add_error_string(code, "one");
  MPI_Add_error_string(code, "another");
  CHECK(strcmp(text_of(code), "another") == 0);
  EXPECT(MPI_ERR_ARG, MPI_Remove_error_code(code)); /* it has a text */
  MPI_Remove_error_string(code);
  CHECK(strcmp(text_of(code), "") == 0);
  EXPECT(MPI_ERR_ARG, MPI_Remove_error_class(first)); /* it has a code */
  EXPECT(MPI_ERR_ARG, MPI_Remove_error_code(first));  /* it is a class */
  EXPECT(MPI_ERR_ARG, MPI_Remove_error_class(code));  /* it is a code */
  EXPECT(MPI_SUCCESS, MPI_Remove_error_code(code));
  EXPECT(MPI_ERR_ARG, MPI_Remove_error_code(code));
  CHECK(text_of(code) == NULL && last_used() == more);
  EXPECT(MPI_SUCCESS, MPI_Remove_error_class(first));
  EXPECT(MPI_SUCCESS, MPI_Remove_error_code(more));
  CHECK(last_used() == second); /* those behind it are gone */
  EXPECT(MPI_SUCCESS, MPI_Remove_error_class(second));
  CHECK(last_used() == MPI_ERR_LASTCODE);
}

/* ---- error handlers */

enum { COMM, WIN, FILE_KIND, SESSION, KINDS };

static struct {
  MPI_Comm comm;
  MPI_Win win;
  MPI_File file;
  MPI_Session session;
} objects;

static int called_for; /* a bit for each kind */

static void on_comm(MPI_Comm *on, int *code, ...) {
  CHECK(*on == objects.comm && *code == MPI_ERR_TAG);
  called_for |= 1 << COMM;
}

static void on_win(MPI_Win *on, int *code, ...) {
  CHECK(*on == objects.win && *code == MPI_ERR_TAG);
  called_for |= 1 << WIN;
}

static void on_file(MPI_File *on, int *code, ...) {
  CHECK(*on == objects.file && *code == MPI_ERR_TAG);
  called_for |= 1 << FILE_KIND;
}

static void on_session(MPI_Session *on, int *code, ...) {
  CHECK(*on == objects.session && *code == MPI_ERR_TAG);
  called_for |= 1 << SESSION;
}

static int set_handler(int kind, MPI_Errhandler handler) {
  switch (kind) {
    case COMM: return MPI_Comm_set_errhandler(objects.comm, handler);
    case WIN: return MPI_Win_set_errhandler(objects.win, handler);
    case FILE_KIND: return MPI_File_set_errhandler(objects.file, handler);
    default: return MPI_Session_set_errhandler(objects.session, handler);
  }
}

static MPI_Errhandler handler_of(int kind) {
  MPI_Errhandler found = MPI_ERRHANDLER_NULL;
  switch (kind) {
    case COMM: MPI_Comm_get_errhandler(objects.comm, &found); break;
    case WIN: MPI_Win_get_errhandler(objects.win, &found); break;
    case FILE_KIND: MPI_File_get_errhandler(objects.file, &found); break;
    default: MPI_Session_get_errhandler(objects.session, &found); break;
  }
  return found;
}

static int call_handler(int kind, int code) {
  switch (kind) {
    case COMM: return MPI_Comm_call_errhandler(objects.comm, code);
    case WIN: return MPI_Win_call_errhandler(objects.win, code);
    case FILE_KIND: return MPI_File_call_errhandler(objects.file, code);
    default: return MPI_Session_call_errhandler(objects.session, code);
  }
}

/* A handler is for objects of one kind, the predefined ones are for all. */
static void handlers(void) {
  static char null[] = "/dev/null";
  const MPI_Errhandler predefined[] = {MPI_ERRORS_ARE_FATAL, MPI_ERRORS_ABORT, MPI_ERRORS_RETURN};
  MPI_Errhandler own[KINDS], found;
  MPI_Comm_dup(MPI_COMM_SELF, &objects.comm);
  MPI_Win_create(NULL, 0, 1, MPI_INFO_NULL, MPI_COMM_SELF, &objects.win);
  MPI_File_open(MPI_COMM_SELF, null, MPI_MODE_RDWR, MPI_INFO_NULL, &objects.file);
  MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &objects.session);
  MPI_Comm_create_errhandler(on_comm, &own[COMM]);
  MPI_Win_create_errhandler(on_win, &own[WIN]);
  MPI_File_create_errhandler(on_file, &own[FILE_KIND]);
  MPI_Session_create_errhandler(on_session, &own[SESSION]);
  for (int of = 0; of < KINDS; of++) {
    for (int i = 0; i < 3; i++) {
      EXPECT(MPI_SUCCESS, set_handler(of, predefined[i]));
      CHECK(handler_of(of) == predefined[i]);
    }
    for (int by = 0; by < KINDS; by++)
      if (by != of) EXPECT(MPI_ERR_ERRHANDLER, set_handler(of, own[by]));
    CHECK(handler_of(of) == MPI_ERRORS_RETURN);
    EXPECT(MPI_SUCCESS, set_handler(of, own[of]));
    found = handler_of(of);
    CHECK(found == own[of]);
    MPI_Errhandler_free(&found);
    CHECK(found == MPI_ERRHANDLER_NULL);
    called_for = 0;
    EXPECT(MPI_SUCCESS, call_handler(of, MPI_ERR_TAG));
    CHECK(called_for == 1 << of);
    MPI_Errhandler_free(&own[of]); /* the object has it yet */
    EXPECT(MPI_SUCCESS, call_handler(of, MPI_ERR_TAG));
    EXPECT(MPI_SUCCESS, set_handler(of, MPI_ERRORS_RETURN));
    EXPECT(MPI_ERR_ARG, call_handler(of, -1));
  }
  MPI_Comm_free(&objects.comm);
  MPI_Win_free(&objects.win);
  MPI_File_close(&objects.file);
  MPI_Session_finalize(&objects.session);
}

/* ---- tools */

static void control(void) {
  int count, place, name_length, text_length, kind;
  char name[64], text[256];
  MPI_T_cvar_handle handle;
  MPI_T_cvar_get_num(&count);
  CHECK(count > 0);
  for (int bad = -1; bad <= count; bad += count + 1) {
    CHECK(MPI_T_cvar_get_info(bad, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL) ==
          MPI_T_ERR_INVALID_INDEX);
    CHECK(MPI_T_cvar_handle_alloc(bad, NULL, &handle, &place) == MPI_T_ERR_INVALID_INDEX);
  }
  for (int i = 0; i < count; i++) {
    name_length = sizeof name;
    text_length = sizeof text;
    CHECK(MPI_T_cvar_get_info(i, name, &name_length, &kind, NULL, NULL, text, &text_length, NULL,
                              NULL) == MPI_SUCCESS);
    CHECK(strlen(name) + 1 == (size_t)name_length && strlen(text) + 1 == (size_t)text_length);
    CHECK(MPI_T_cvar_get_index(name, &place) == MPI_SUCCESS && place == i);
    char cut[4] = "###";
    int room = 3;
    CHECK(MPI_T_cvar_get_info(i, cut, &room, NULL, NULL, NULL, NULL, NULL, NULL, NULL) ==
          MPI_SUCCESS);
    CHECK(cut[0] == name[0] && cut[1] == name[1] && cut[2] == '\0');
  }
  CHECK(MPI_T_cvar_get_index("none", &place) == MPI_T_ERR_INVALID_NAME);
  CHECK(MPI_T_cvar_get_index(NULL, &place) == MPI_T_ERR_INVALID);
  CHECK(MPI_T_cvar_get_index(name, NULL) == MPI_T_ERR_INVALID);
  handle = MPI_T_CVAR_HANDLE_NULL;
  CHECK(MPI_T_cvar_read(handle, text) == MPI_T_ERR_INVALID_HANDLE);
  CHECK(MPI_T_cvar_write(handle, text) == MPI_T_ERR_INVALID_HANDLE);
  CHECK(MPI_T_cvar_handle_free(&handle) == MPI_T_ERR_INVALID_HANDLE);
}

static void categories(void) {
  int count, place, cvars, pvars, inner, indices[32], all;
  char name[64];
  MPI_T_category_get_num(&count);
  CHECK(count > 0);
  for (int bad = -1; bad <= count; bad += count + 1) {
    CHECK(MPI_T_category_get_info(bad, NULL, NULL, NULL, NULL, NULL, NULL, NULL) ==
          MPI_T_ERR_INVALID_INDEX);
    CHECK(MPI_T_category_get_cvars(bad, 32, indices) == MPI_T_ERR_INVALID_INDEX);
    CHECK(MPI_T_category_get_pvars(bad, 32, indices) == MPI_T_ERR_INVALID_INDEX);
    CHECK(MPI_T_category_get_categories(bad, 32, indices) == MPI_T_ERR_INVALID_INDEX);
    CHECK(MPI_T_category_get_events(bad, 32, indices) == MPI_T_ERR_INVALID_INDEX);
    CHECK(MPI_T_category_get_num_events(bad, &place) == MPI_T_ERR_INVALID_INDEX);
  }
  int next = 0; /* each control variable is in one category, in their order */
  for (int i = 0; i < count; i++) {
    int length = sizeof name;
    CHECK(MPI_T_category_get_info(i, name, &length, NULL, NULL, &cvars, &pvars, &inner) ==
          MPI_SUCCESS);
    CHECK(MPI_T_category_get_index(name, &place) == MPI_SUCCESS && place == i && inner == 0);
    for (int room = 0; room <= cvars + 1; room++) {
      for (int k = 0; k < 32; k++) indices[k] = -7;
      CHECK(MPI_T_category_get_cvars(i, room, indices) == MPI_SUCCESS);
      for (int k = 0; k < cvars && k < room; k++) CHECK(indices[k] == next + k);
      CHECK(indices[room < cvars ? room : cvars] == -7);
    }
    next += cvars;
    indices[0] = -7;
    CHECK(MPI_T_category_get_categories(i, 32, indices) == MPI_SUCCESS && indices[0] == -7);
    CHECK(MPI_T_category_get_num_events(i, &place) == MPI_SUCCESS && place == 0);
  }
  MPI_T_cvar_get_num(&all);
  CHECK(next == all);
  CHECK(MPI_T_category_get_index("none", &place) == MPI_T_ERR_INVALID_NAME);
  CHECK(MPI_T_category_get_index(NULL, &place) == MPI_T_ERR_INVALID);
}

static void performance(void) {
  int count, place, kind, length, readonly;
  char name[64];
  unsigned long long value = 0;
  MPI_T_pvar_session session, other;
  MPI_T_pvar_handle handle, null = MPI_T_PVAR_HANDLE_NULL;
  MPI_T_pvar_get_num(&count);
  MPI_T_pvar_session_create(&session);
  MPI_T_pvar_session_create(&other);
  for (int bad = -1; bad <= count; bad += count + 1) {
    CHECK(MPI_T_pvar_get_info(bad, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
                              NULL) == MPI_T_ERR_INVALID_INDEX);
    CHECK(MPI_T_pvar_handle_alloc(session, bad, NULL, &handle, &place) == MPI_T_ERR_INVALID_INDEX);
  }
  for (int i = 0; i < count; i++) {
    length = sizeof name;
    CHECK(MPI_T_pvar_get_info(i, name, &length, NULL, &kind, NULL, NULL, NULL, NULL, NULL,
                              &readonly, NULL, NULL) == MPI_SUCCESS);
    CHECK(MPI_T_pvar_get_index(name, kind, &place) == MPI_SUCCESS && place == i);
    CHECK(MPI_T_pvar_get_index(name, kind + 1, &place) == MPI_T_ERR_INVALID_NAME);
    CHECK(MPI_T_pvar_handle_alloc(session, i, NULL, &handle, &place) == MPI_SUCCESS && place == 1);
    int writes = readonly ? MPI_T_ERR_PVAR_NO_WRITE : MPI_SUCCESS;
    CHECK(MPI_T_pvar_reset(session, handle) == writes);
    CHECK(MPI_T_pvar_write(session, handle, &value) == writes);
    CHECK(MPI_T_pvar_readreset(session, handle, &value) == writes);
    CHECK(MPI_T_pvar_start(session, handle) == MPI_T_ERR_PVAR_NO_STARTSTOP);
    CHECK(MPI_T_pvar_stop(session, handle) == MPI_T_ERR_PVAR_NO_STARTSTOP);
    CHECK(MPI_T_pvar_read(other, handle, &value) == MPI_T_ERR_INVALID_HANDLE);
    CHECK(MPI_T_pvar_handle_free(other, &handle) == MPI_T_ERR_INVALID_HANDLE);
    CHECK(MPI_T_pvar_read(session, MPI_T_PVAR_ALL_HANDLES, &value) == MPI_T_ERR_INVALID_HANDLE);
    if (i % 2 == 0) CHECK(MPI_T_pvar_handle_free(session, &handle) == MPI_SUCCESS);
  }
  CHECK(MPI_T_pvar_reset(session, MPI_T_PVAR_ALL_HANDLES) == MPI_SUCCESS);
  CHECK(MPI_T_pvar_start(session, MPI_T_PVAR_ALL_HANDLES) == MPI_SUCCESS);
  CHECK(MPI_T_pvar_read(session, null, &value) == MPI_T_ERR_INVALID_HANDLE);
  CHECK(MPI_T_pvar_get_index(NULL, 0, &place) == MPI_T_ERR_INVALID);
  CHECK(MPI_T_pvar_session_free(&session) == MPI_SUCCESS && session == MPI_T_PVAR_SESSION_NULL);
  CHECK(MPI_T_pvar_session_free(&session) == MPI_T_ERR_INVALID_SESSION);
  CHECK(MPI_T_pvar_handle_alloc(session, 0, NULL, &handle, &place) == MPI_T_ERR_INVALID_SESSION);
  CHECK(MPI_T_pvar_start(session, MPI_T_PVAR_ALL_HANDLES) == MPI_T_ERR_INVALID_SESSION);
  CHECK(MPI_T_pvar_session_free(&other) == MPI_SUCCESS);
}

int main(int argc, char **argv) {
  int size, provided;
  check_start(&argc, &argv, &size);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  lengths();
  rooms();
  many_keys();
  classes();
  added();
  handlers();
  MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
  control();
  categories();
  performance();
  MPI_T_finalize();
  MPI_Finalize();
  return 0;
}
