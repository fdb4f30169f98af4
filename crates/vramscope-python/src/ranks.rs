//! What the page about all ranks of a running job needs: the odd rank, and the viewer that opens its snapshot.

use pyo3::prelude::*;
use vramscope_cli::opened;
use vramscope_core::fleet::statistic::{Measure, outlier_of};

use crate::errors::apart;

/// The rank whose bytes are farthest from the median, by the rule of the page's table across ranks: its index, the
/// median in bytes, and how many others are odd too. None if none is.
#[pyfunction]
pub(crate) fn odd_rank(bytes: Vec<u64>) -> Option<(usize, u64, usize)> {
    // The measure is only a name for the values here.
    let odd = outlier_of(&bytes, Measure::Peak)?;
    Some((odd.rank, odd.median_bytes, odd.further))
}

/// The viewer as one HTML document without a snapshot; another page sends it snapshots by messages.
#[pyfunction]
pub(crate) fn viewer(py: Python<'_>) -> PyResult<String> {
    apart(py, opened::viewer)
}
