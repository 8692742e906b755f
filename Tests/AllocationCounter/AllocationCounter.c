#include "AllocationCounter.h"

#include <errno.h>
#include <jemalloc/jemalloc.h>
#include <stddef.h>
#include <stdlib.h>

// A benchmark has one thread.
static uint64_t count;

uint64_t allocation_count(void) { return count; }

// jemalloc's own entrances go by other names, which nobody replaces; none of them takes a size of 0.
static size_t some(size_t size) { return size == 0 ? 1 : size; }

void *malloc(size_t size) {
    count++;
    return mallocx(some(size), 0);
}

void *calloc(size_t number, size_t size) {
    size_t total;
    count++;
    if (__builtin_mul_overflow(number, size, &total)) return NULL;
    return mallocx(some(total), MALLOCX_ZERO);
}

void *realloc(void *memory, size_t size) {
    count++;
    if (memory == NULL) return mallocx(some(size), 0);
    if (size > 0) return rallocx(memory, size, 0);
    free(memory);
    return NULL;
}

void *aligned_alloc(size_t alignment, size_t size) {
    count++;
    return mallocx(some(size), MALLOCX_ALIGN(alignment));
}

int posix_memalign(void **memory, size_t alignment, size_t size) {
    count++;
    *memory = mallocx(some(size), MALLOCX_ALIGN(alignment));
    return *memory == NULL ? ENOMEM : 0;
}
