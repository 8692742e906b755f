#include "revision.h"

const char *harebell_revision(void) { return HAREBELL_REVISION; }
