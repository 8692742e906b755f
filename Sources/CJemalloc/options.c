#include "CJemalloc.h"

// One arena for all threads: each has a cache in front of it, so that they seldom meet there, and what is free is free for all.
const char *malloc_conf = "narenas:1";
