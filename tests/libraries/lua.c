/* SPDX-License-Identifier: Apache-2.0 */
/* Lua leaves errors by longjmp(). */
#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>

#include "work.h"

static int mix(lua_State *state) {
  (void)state;
  work_mix();
  return 0;
}

int main(int argc, char **argv) {
  int rank = work_start(&argc, &argv);
  static const char script[] =
      "local sum = 0\n"
      "for i = 1, 100 do\n"
      "  if i % 40 == 0 then mix() end\n"
      "  local good, why = pcall(function() mixed = i * rank; if i % 3 == 0 then error('x') end "
      "end)\n"
      "  if good then sum = sum + mixed else sum = sum + #string.rep('y', i) end\n"
      "end\n"
      "return sum";
  lua_State *state = luaL_newstate();
  luaL_openlibs(state);
  lua_register(state, "mix", mix);
  lua_pushinteger(state, rank);
  lua_setglobal(state, "rank");
  WORK(luaL_dostring(state, script) == LUA_OK);
  double result = lua_tonumber(state, -1);
  lua_close(state);
  return work_end(result);
}
