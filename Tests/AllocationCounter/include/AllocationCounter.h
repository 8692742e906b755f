// Counts what a process allocates: whatever is linked with this, C libraries included, calls these instead of the C
// library's own.
#pragma once
#include <stdint.h>

/// Calls since the process started.
uint64_t allocation_count(void);
