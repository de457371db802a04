/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file search.h
 * Where the file of a library is, by the rules of ld.so(8).
 */
#ifndef TM_LOADER_SEARCH_H
#define TM_LOADER_SEARCH_H

#include <limits.h>
#include <stdbool.h>

#include "tmpi/loader/image.h"

/** Finds the library that an image needs: in its DT_RPATH and those of the images that led to it,
 * in LD_LIBRARY_PATH, in its DT_RUNPATH, in the cache of ldconfig(8), in the default folders. A
 * name with a '/' is a path. @return whether there is one; its path. */
bool tm_search(const struct tm_image *image, const char *name, char where[PATH_MAX]);

/** @return whether a file lies in a folder of the system's, not of the program's. */
bool tm_search_is_system(const char *path);

/** beside.c: the path of a file in the folder of libmpi_abi, as ld.so(8) has found it.
 * @return false: tmpirun has no such library. dlerror() may say why. */
bool tm_search_beside(const char *name, char where[PATH_MAX]);

/** cache.c: @return the path that ldconfig(8) has noted for a name; NULL: none. */
const char *tm_cache_find(const char *name);

#endif
