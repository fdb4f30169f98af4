//! A stand-in for `libcuda.so.1` that keeps a ledger, for tests without a GPU.
//!
//! It answers the driver's functions for memory as a driver does (mappings, pools that are trimmed, contexts that
//! take their memory with them, address ranges that are mapped, graphs), copies and sets memory for real, and runs no
//! kernels. What it does to memory it appends to the ledger under its one lock: that is the truth which captures
//! are compared with. What is left out: aliases (two mappings of one physical allocation do not share their
//! bytes), imported memory's contents, and the time that streams take: every call is done when it returns.
//!
//! ```text
//! calls (one file per topic: C functions by the macro `driver!`) ─> driver (the one state) ─> space, heap, ledger
//! ```
//!
//! | variable | meaning | default |
//! | --- | --- | --- |
//! | `FAKECUDA_DEVICES` | devices | 1 |
//! | `FAKECUDA_TOTAL_MB` | memory of each | 8192 |
//! | `FAKECUDA_OTHER_MB` | of it, what other processes hold | 256 |
//! | `FAKECUDA_NO_POOLS` | if set, devices have no memory pools | |
//! | `FAKECUDA_LEDGER` | a folder for ledgers, `<process>.jsonl` each | no ledger |
#![cfg(target_os = "linux")]
#![expect(unsafe_code, reason = "speaks C")]

#[macro_use]
mod entry;

mod calls;
mod driver;
mod heap;
mod ledger;
mod memory;
mod space;
