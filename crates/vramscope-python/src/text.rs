//! What the text of an error or a log says of memory, as the command line's JSON.

use std::path::PathBuf;

use pyo3::prelude::*;
use pyo3::types::PyBytes;
use vramscope_cli::opened;

use crate::errors::apart;

/// The answer about a file.
#[pyfunction]
pub(crate) fn text_of_file(py: Python<'_>, path: PathBuf) -> PyResult<Bound<'_, PyBytes>> {
    let answer = apart(py, || opened::text_of_file(&path))?;
    Ok(PyBytes::new(py, &answer))
}

/// The answer about a text in memory.
#[pyfunction]
pub(crate) fn text_of_bytes<'py>(data: &Bound<'py, PyBytes>) -> PyResult<Bound<'py, PyBytes>> {
    let (py, text) = (data.py(), data.as_bytes());
    let answer = apart(py, || opened::text_of_bytes(text))?;
    Ok(PyBytes::new(py, &answer))
}
