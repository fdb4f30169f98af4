//! An open snapshot, as Python holds it: it answers with the command line's JSON, and hands out tables.

use std::ops::ControlFlow;
use std::path::PathBuf;

use pyo3::prelude::*;
use pyo3::types::PyBytes;
use vramscope_cli::Failure;
use vramscope_cli::opened;
use vramscope_core::model::DeviceIndex;

use crate::errors::apart;
use crate::table::Table;

/// An open snapshot. It never changes, so threads may share it.
#[pyclass(frozen, module = "vramscope._vramscope")]
pub(crate) struct Opened(opened::Opened);

/// Reads a file.
#[pyfunction]
pub(crate) fn open_file(py: Python<'_>, path: PathBuf) -> PyResult<Opened> {
    interruptible(py, |on_progress| opened::Opened::file(&path, on_progress))
}

/// Reads a file's content from memory; answers show `name` instead of its path.
#[pyfunction]
pub(crate) fn open_bytes(data: &Bound<'_, PyBytes>, name: &str) -> PyResult<Opened> {
    let bytes = data.as_bytes();
    interruptible(data.py(), |on_progress| {
        opened::Opened::bytes(name, bytes, on_progress)
    })
}

/// Reads, unless the user interrupts it.
fn interruptible(
    py: Python<'_>,
    read: impl FnOnce(&mut opened::OnProgress<'_>) -> Result<opened::Opened, Failure> + Send,
) -> PyResult<Opened> {
    let mut interrupted = None;
    let opened = apart(py, || {
        read(&mut |_| match Python::attach(|py| py.check_signals()) {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => {
                interrupted = Some(error);
                ControlFlow::Break(())
            }
        })
    });
    match interrupted {
        Some(interruption) => Err(interruption),
        None => Ok(Opened(opened?)),
    }
}

#[pymethods]
impl Opened {
    /// The file's path, or the name given instead.
    #[getter]
    fn name(&self) -> &str {
        self.0.name()
    }

    /// What is damaged in the file, a line for each kind.
    #[getter]
    fn damage(&self) -> Vec<String> {
        self.0.damage()
    }

    /// The device with the highest peak; None if there is none.
    #[getter]
    fn first_device(&self) -> Option<DeviceIndex> {
        self.0.first_device()
    }

    /// Runs a command of the command line on this snapshot, and on others together with it. `arguments` are its name,
    /// its options, `--` and the arguments before the files' names.
    fn ask<'py>(
        &self,
        py: Python<'py>,
        arguments: Vec<String>,
        others: Vec<PyRef<'py, Self>>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let others: Vec<_> = others.iter().map(|other| other.0.clone()).collect();
        let answer = apart(py, || self.0.ask(&others, &arguments))?;
        Ok(PyBytes::new(py, &answer))
    }

    /// The page with this snapshot inside. `options` are those of `vramscope html`.
    fn page<'py>(&self, py: Python<'py>, options: Vec<String>) -> PyResult<Bound<'py, PyBytes>> {
        let page = apart(py, || self.0.page(&options))?;
        Ok(PyBytes::new(py, &page))
    }

    /// A picture of this snapshot as SVG. `options` are those of `vramscope plot`.
    fn picture<'py>(&self, py: Python<'py>, options: Vec<String>) -> PyResult<Bound<'py, PyBytes>> {
        let picture = apart(py, || self.0.picture(&options))?;
        Ok(PyBytes::new(py, &picture))
    }

    /// The table of this name, for one device or all.
    fn table(&self, py: Python<'_>, name: &str, device: Option<DeviceIndex>) -> PyResult<Table> {
        apart(py, || Table::of(&self.0, name, device))
    }
}
