// The allocator of every program that this is linked into: jemalloc takes the place of glibc's malloc. There is nothing to call.
#pragma once
