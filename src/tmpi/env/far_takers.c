/* SPDX-License-Identifier: Apache-2.0 */
/* What takes the notes of other nodes, by service. */
#include "tmpi/comm/registry.h"
#include "tmpi/comm/spawn.h"
#include "tmpi/io/file.h"
#include "tmpi/match/far.h"
#include "tmpi/part/channel.h"
#include "tmpi/rma/win.h"

tm_far_taker *const tm_far_takers[TM_FAR_SERVICES] = {
    [TM_FAR_PARTITIONED] = tm_part_take,    [TM_FAR_FILE] = tm_file_take,
    [TM_FAR_WINDOW] = tm_win_take_note,     [TM_FAR_CANCEL] = tm_far_take_question,
    [TM_FAR_CANCELLED] = tm_far_take_reply, [TM_FAR_CHECK] = tm_far_take_check,
    [TM_FAR_REGISTRY] = tm_registry_take,   [TM_FAR_SPAWN] = tm_spawn_take,
};

tm_far_announced_taker *const tm_far_announced = tm_win_take_announced;
