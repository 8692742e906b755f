#include <jemalloc/jemalloc.h>

// What jemalloc reads before the program begins; the environment's MALLOC_CONF goes before it. Source: jemalloc(3), "TUNING".
// One arena for all threads: each has a cache in front of it, so that they seldom meet there, and what is free is free for all.
const char *malloc_conf = "narenas:1";
