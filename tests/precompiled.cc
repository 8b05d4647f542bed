// A target needs a source, and precompiled.h a target.
