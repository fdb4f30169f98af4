//! What the page of all ranks of a running job needs: which one is odd, and the viewer that opens its snapshot.

use pyo3::prelude::*;
use vramscope_cli::opened;
use vramscope_core::fleet::statistic::{Measure, outlier_of};

use crate::errors::apart;

/// Which of these ranks, each with so many bytes, is farthest from the median, as the page's table across ranks tells
/// it: its index, the median in bytes, and how many others are odd too. None if none is.
#[pyfunction]
pub(crate) fn odd_rank(bytes: Vec<u64>) -> Option<(usize, u64, usize)> {
    // The measure only names what is compared.
    let odd = outlier_of(&bytes, Measure::Peak)?;
    Some((odd.rank, odd.median_bytes, odd.further))
}

/// The viewer as one HTML document without a snapshot, to which another page hands some by messages.
#[pyfunction]
pub(crate) fn viewer(py: Python<'_>) -> PyResult<String> {
    apart(py, opened::viewer)
}
