//! A stand-in for `libcuda.so.1` with a ledger, for tests without a GPU.
//!
//! It implements the driver's memory functions as a driver does: mappings, pools that are trimmed, contexts that
//! free their memory when they end, mapped address ranges, graphs. Copies and fills are real; kernels do not run.
//! Every change of memory goes into the ledger, under the one lock of the state. Tests compare captures with the
//! ledger.
//!
//! What CUDA leaves open, this driver does by `habits`, which say what they rest on.
//!
//! Not implemented: aliases (two mappings of one physical allocation do not share their bytes), the content of
//! imported memory, and the duration of work on streams (every call is finished when it returns).
//!
//! ```text
//! calls (one file per topic: C functions by the macro `driver!`) ─> driver (the one state) ─> space, heap, ledger
//! ```
//!
//! | variable | meaning | default |
//! | --- | --- | --- |
//! | `FAKECUDA_DEVICES` | number of devices | 1 |
//! | `FAKECUDA_TOTAL_MB` | memory of each device | 8192 |
//! | `FAKECUDA_OTHER_MB` | part of it that other processes hold | 256 |
//! | `FAKECUDA_NO_POOLS` | if set, devices have no memory pools | |
//! | `FAKECUDA_HABITS` | file with habits that replace those of `habits.json` | |
//! | `FAKECUDA_ODD_BYTES` | allocations of this size are odd: of their attributes, only device and context are told | |
//! | `FAKECUDA_LEDGER` | folder for ledgers, `<process>.jsonl` each | no ledger |
#![cfg(target_os = "linux")]
#![expect(unsafe_code, reason = "speaks C")]

#[macro_use]
mod entry;

mod calls;
mod driver;
mod habits;
mod heap;
mod ledger;
mod memory;
mod space;
