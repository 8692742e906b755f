// The allocator of every program that this is linked into: jemalloc takes the place of glibc's malloc. There is nothing to call.
#pragma once

// What jemalloc reads before the program begins; the environment's MALLOC_CONF goes before it. Source: jemalloc(3), "TUNING".
extern const char *malloc_conf;
