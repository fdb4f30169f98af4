//! Tells `vramscope-capture` what a program is doing with its GPU memory. Does nothing in programs that are not captured.
