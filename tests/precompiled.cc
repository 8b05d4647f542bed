// Nothing: precompiled.h needs a target, and a target a source.
