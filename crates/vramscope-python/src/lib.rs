//! The extension module `vramscope._vramscope`: what the Python package cannot say in Python.
//!
//! It computes nothing and words nothing: answers and failures are those of the command line's library, tables those
//! of the core. While either works, other threads of Python go on. The package around it, in `python/vramscope`,
//! gives it names, types and documentation.
//! Methods there are commands with their options as arguments (`_snapshot`), types are those answers (`_answers`, which tests
//! compare with real ones). `_record` uses torch's own recorder and is Python alone; `_show` puts the page into a notebook's
//! frame, `_widget` the page that all cells share; `debug_server` adds to torch's debug server, where `_debug_worker` answers on
//! every rank and `_debug_pages` asks all of them.

mod errors;
mod ranks;
mod snapshot;
mod table;

use std::ffi::OsString;

use pyo3::prelude::*;

/// Runs the program `vramscope` with these arguments, the first of which is its name. Returns its exit code.
#[pyfunction]
fn run(py: Python<'_>, arguments: Vec<OsString>) -> u8 {
    py.detach(|| vramscope_cli::run(arguments))
}

/// The module.
#[pymodule]
mod _vramscope {
    #[pymodule_export]
    use crate::errors::SnapshotError;
    #[pymodule_export]
    use crate::ranks::{odd_rank, viewer};
    #[pymodule_export]
    use crate::run;
    #[pymodule_export]
    use crate::snapshot::{Opened, open_bytes, open_file};
    #[pymodule_export]
    use crate::table::Table;
}
