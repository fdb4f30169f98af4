//! NVTX: ranges and marks of programs in any language.
