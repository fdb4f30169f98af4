//! Starts a program so that PyTorch records its GPU memory, though nobody has changed the program.
//!
//! A [`Session`] lays a `sitecustomize.py` into a temporary folder and puts that ahead on PYTHONPATH, so that every Python
//! below runs it. It waits for torch, records, and writes snapshots; [`Session::outcome`] reads what the processes told of
//! themselves. [`run`] starts the program and forwards signals to it, [`ask`] has running processes write a file now. A [`HostWatch`] sees whether the host's memory grows.
//!
//! No snapshot is read here. Only for Unix: elsewhere the crate is empty.
//!
//! The file in the program must not make it worse: nothing of it is printed or raised, it gives way to a program that records
//! by itself, and the tests run each script with it and without. A process that ends by SIGTERM in a call of C is ended by a
//! thread, which asks the kernel who got the signal: a child that has just been forked shares the socket.
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
