//! From a raw log to a snapshot with names: what the binary `vramscope-capture` does after the captured program.
