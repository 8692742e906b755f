#pragma once

/// The commit and its date that this binary was built from, as Tests/Tools/revision prints them; empty in a build
/// without make.
const char *_Nonnull harebell_revision(void);
