//! Starts a program so that PyTorch records its GPU memory, without any change to the program.
//!
//! A [`Session`] puts a `sitecustomize.py` into a temporary folder and that folder at the front of PYTHONPATH, so that
//! every Python started below runs it. It waits for torch, records, and writes snapshots; [`Session::outcome`] reads
//! what the processes reported. [`run`] starts the program and forwards signals to it, [`ask`] makes running processes
//! write a file now. A [`HostWatch`] detects growing host memory.
//!
//! Reads no snapshots. Unix only: elsewhere the crate is empty.
//!
//! The file in the program must not disturb it: it prints and raises nothing, it gives way to a program that records by
//! itself, and the tests run each script with it and without. If SIGTERM arrives while a process is inside a C call, a
//! thread ends the process. The thread asks the kernel who got the signal, since a child that has just been forked
//! shares the socket.
#![cfg(unix)]

mod account;
mod ask;
mod host;
mod outcome;
mod run;
mod session;

pub use self::ask::{Answer, Whom, ask};
pub use self::host::{HostGrowth, HostMemory, HostWatch};
pub use self::outcome::Outcome;
pub use self::run::run;
pub use self::session::{RANKS, Session, Settings, Stacks, Steps};
