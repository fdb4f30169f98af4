//! The rows of a file's tables, for CSV and Parquet.

use vramscope_core::analysis::recording::Device;
use vramscope_core::tables::{Table, Write, for_each_row};

use crate::failure::Failure;
use crate::subject::Subject;

/// Hands each row of a table to `write`, of all devices that were asked for, and passes on its first error.
pub(super) fn for_each(
    subject: &Subject,
    table: Table,
    write: &mut Write<'_, Failure>,
) -> Result<(), Failure> {
    let devices: Vec<Device<'_>> = subject.devices().map(|device| *device).collect();
    for_each_row(table, subject, &devices, write)
}
