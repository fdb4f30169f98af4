//! What `vramscope-api` calls, by name.
