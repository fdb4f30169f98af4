//! The extension module `vramscope._vramscope`: the parts of the Python package that cannot be written in Python.
//!
//! It computes and phrases nothing itself: answers and failures come from the command line's library, tables from core.
//! Other Python threads continue meanwhile. The package around it, in `python/vramscope`, adds names, types and
//! documentation. Its methods are commands with their options as arguments (`_snapshot`), its types describe their
//! answers (`_answers`; tests compare them with real ones). `_text` asks about error texts and logs. `_record` uses torch's own recorder and is pure Python;
//! `_show` puts the page into a notebook's frame, `_widget` the page that all cells share; `debug_server` adds to
//! torch's debug server, where `_debug_worker` answers on every rank and `_debug_pages` queries all of them.

mod errors;
mod ranks;
mod snapshot;
mod table;
mod text;

use std::ffi::OsString;

use pyo3::prelude::*;

/// Runs the program `vramscope` with these arguments, the first of which is its name. Returns its exit code.
#[pyfunction]
fn run(py: Python<'_>, arguments: Vec<OsString>) -> u8 {
    py.detach(|| vramscope_cli::run(arguments))
}

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
    #[pymodule_export]
    use crate::text::{text_of_bytes, text_of_file};
}
