//! A stand-in for `libcuda.so.1` that keeps a ledger.
