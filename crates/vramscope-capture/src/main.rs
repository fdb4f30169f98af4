//! `vramscope-capture`: records the GPU memory of any CUDA program as a snapshot.

fn main() {}
