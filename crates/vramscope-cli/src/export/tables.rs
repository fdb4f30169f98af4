//! The rows of a file's tables, for CSV and Parquet.

use vramscope_core::analysis::recording::Device;
use vramscope_core::tables::{self, Piece, Table, Take, Write};

use crate::failure::Failure;
use crate::subject::Subject;

/// Passes each row of a table to `write`, for all requested devices, and returns its first error.
pub(super) fn for_each(
    subject: &Subject,
    table: Table,
    write: &mut Write<'_, Failure>,
) -> Result<(), Failure> {
    for_each_piece(subject, table, &mut |piece| match piece {
        Piece::Row(values) => write(values),
        Piece::Columns(columns) => columns.for_each_row(table, write),
    })
}

/// Like [`for_each`], with long tables in columns.
pub(super) fn for_each_piece(
    subject: &Subject,
    table: Table,
    take: &mut Take<'_, Failure>,
) -> Result<(), Failure> {
    let devices: Vec<Device<'_>> = subject.devices().map(|device| *device).collect();
    tables::for_each_piece(table, subject, &devices, take)
}
