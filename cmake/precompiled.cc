// A target needs a source, and a precompiled header a target.
