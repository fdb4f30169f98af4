//! Tables as Parquet, for DuckDB, pandas and Spark: flat, every column nullable.
//!
//! Numbers and sizes are signed 64-bit integers (a size beyond 2^63 - 1, which only a damaged file has, is cut
//! to that), addresses unsigned ones, times UTC timestamps in µs: `time_us` is called `time` here. Texts, sizes and
//! addresses are in dictionaries while few of them differ, other numbers are stored as differences. Pages are compressed
//! with zstd. A row group ends after so many rows or so much text, which is all that is held in memory; of long tables it
//! is one column of a group.

mod column;

use std::io::{self, Write};
use std::mem;
use std::ops::Range;
use std::sync::Arc;

use parquet::basic::{
    Compression, Encoding, LogicalType, Repetition, TimeUnit, Type as PhysicalType, ZstdLevel,
};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::{ColumnPath, Type};
use vramscope_core::tables::{Cells, Field, Kind, Piece, Table, Value};

pub(crate) use self::column::Column;
use super::tables::for_each_piece;
use super::{WRITER, damage_lines, failed};
use crate::failure::Failure;
use crate::subject::Subject;

/// Most rows of a row group.
const GROUP_ROWS: usize = 1 << 17;
/// Most bytes of text in a row group, before the last row.
const GROUP_TEXT_BYTES: usize = 64 << 20;
/// Most bytes of a dictionary of sizes, and of addresses. Beyond that, differences take less space.
const SIZES_BYTES: usize = 2 << 10;
const ADDRESSES_BYTES: usize = 128 << 10;
/// The number of rows after which the size of a dictionary is checked.
const BATCH_ROWS: usize = 128;
/// The fastest level: values are encoded before, and the next levels take longer than they save.
const ZSTD_LEVEL: i32 = 1;

pub(crate) fn write(subject: &Subject, table: Table, out: &mut dyn Write) -> Result<(), Failure> {
    let columns = table.fields().into_iter().map(Column::of).collect();
    let mut file = TableFile::create(table.name(), columns, damage(subject), out)?;
    for_each_piece(subject, table, &mut |piece| file.take(piece))?;
    file.finish()
}

/// The file's metadata: a value `damage` with a line per kind, if there is any.
fn damage(subject: &Subject) -> Option<Vec<KeyValue>> {
    let lines = damage_lines(subject);
    let entry = || vec![KeyValue::new("damage".to_owned(), lines.join("\n"))];
    (!lines.is_empty()).then(entry)
}

/// Rows fit their schema, so every error here is one of the output.
fn broken(error: ParquetError) -> Failure {
    failed(match error {
        ParquetError::External(error) => match error.downcast::<io::Error>() {
            Ok(error) => *error,
            Err(error) => io::Error::other(error),
        },
        error => io::Error::other(error),
    })
}

/// A file that rows are written into.
pub(crate) struct TableFile<'a> {
    columns: Vec<Column<'a>>,
    rows: usize,
    text_bytes: usize,
    /// The library requires a writer that may move to another thread, which `out` may not. So each row group is
    /// written into memory first.
    file: SerializedFileWriter<Vec<u8>>,
    out: &'a mut dyn Write,
}

impl<'a> TableFile<'a> {
    /// Begins a file.
    ///
    /// # Errors
    /// When the library refuses the columns.
    pub(crate) fn create(
        name: &str,
        columns: Vec<Column<'a>>,
        metadata: Option<Vec<KeyValue>>,
        out: &'a mut dyn Write,
    ) -> Result<Self, Failure> {
        let properties = properties(&columns, metadata).map_err(broken)?;
        let schema = schema(name, &columns).map_err(broken)?;
        let file = SerializedFileWriter::new(Vec::new(), Arc::new(schema), Arc::new(properties));
        Ok(Self {
            columns,
            rows: 0,
            text_bytes: 0,
            file: file.map_err(broken)?,
            out,
        })
    }

    /// Adds a row: a value for each column that takes one.
    ///
    /// # Errors
    /// When a row group cannot be written.
    pub(crate) fn push(&mut self, values: &[Value<'_>]) -> Result<(), Failure> {
        self.rows += 1;
        let columns = self
            .columns
            .iter_mut()
            .filter(|column| column.takes_values());
        for (column, value) in columns.zip(values) {
            self.text_bytes += column.push(value);
        }
        match self.rows >= GROUP_ROWS || self.text_bytes >= GROUP_TEXT_BYTES {
            true => self.flush(),
            false => Ok(()),
        }
    }

    /// Adds the rows of a piece of a table.
    ///
    /// # Errors
    /// As [`push`](Self::push).
    pub(crate) fn take(&mut self, piece: Piece<'_, '_>) -> Result<(), Failure> {
        let table = match piece {
            Piece::Row(values) => return self.push(values),
            Piece::Columns(table) => table,
        };
        self.flush()?;
        (0..table.rows).step_by(GROUP_ROWS).try_for_each(|from| {
            let rows = from..table.rows.min(from + GROUP_ROWS);
            self.group(rows.len(), Some((&table.cells, rows)))
        })
    }

    /// Writes what is left, and the metadata.
    ///
    /// # Errors
    /// When it cannot be written.
    pub(crate) fn finish(mut self) -> Result<(), Failure> {
        self.flush()?;
        let rest = self.file.into_inner().map_err(broken)?;
        self.out.write_all(&rest).map_err(failed)
    }

    /// Writes the rows so far as a row group.
    fn flush(&mut self) -> Result<(), Failure> {
        let rows = mem::take(&mut self.rows);
        self.text_bytes = 0;
        match rows {
            0 => Ok(()),
            rows => self.group(rows, None),
        }
    }

    /// Writes a row group, of rows that the columns have already or that are filled in from a long table: one column after
    /// the other, so that no more than one is in memory. Its texts are in memory anyway.
    fn group(
        &mut self,
        rows: usize,
        table: Option<(&[Cells<'_>], Range<usize>)>,
    ) -> Result<(), Failure> {
        let mut group = self.file.next_row_group().map_err(broken)?;
        let mut cells = table.iter().flat_map(|(cells, _)| cells.iter());
        for column in &mut self.columns {
            let cells = column.takes_values().then(|| cells.next()).flatten();
            if column.is_left_out() {
                continue;
            }
            if let (Some(cells), Some((_, rows))) = (cells, &table) {
                column.fill(cells, rows.clone());
            }
            let Some(mut to) = group.next_column().map_err(broken)? else {
                break;
            };
            column.write(rows, &mut to).map_err(broken)?;
            to.close().map_err(broken)?;
        }
        group.close().map_err(broken)?;
        self.file.flush().map_err(failed)?;
        self.out.write_all(self.file.inner()).map_err(failed)?;
        self.file.inner_mut().clear();
        Ok(())
    }
}

fn properties(
    columns: &[Column<'_>],
    metadata: Option<Vec<KeyValue>>,
) -> Result<WriterProperties, ParquetError> {
    // A row group is small enough to be read as a whole: there is nothing to find within it.
    let mut properties = WriterProperties::builder()
        .set_created_by(WRITER.to_owned())
        .set_compression(Compression::ZSTD(ZstdLevel::try_new(ZSTD_LEVEL)?))
        .set_statistics_enabled(EnabledStatistics::Chunk)
        .set_offset_index_disabled(true)
        .set_write_batch_size(BATCH_ROWS)
        .set_data_page_row_count_limit(GROUP_ROWS)
        .set_data_page_size_limit(usize::MAX)
        .set_key_value_metadata(metadata);
    for column in columns {
        let field = column.field();
        let path = ColumnPath::from(field.typed_name());
        if column.is_unordered() {
            properties =
                properties.set_column_statistics_enabled(path.clone(), EnabledStatistics::None);
        }
        let dictionary_bytes = match field.kind {
            Kind::Text | Kind::Flag => continue,
            Kind::Number | Kind::TimeUs => 0,
            Kind::Bytes => SIZES_BYTES,
            Kind::Address => ADDRESSES_BYTES,
        };
        properties = properties
            .set_column_dictionary_enabled(path.clone(), dictionary_bytes > 0)
            .set_column_dictionary_page_size_limit(path.clone(), dictionary_bytes)
            .set_column_encoding(path, Encoding::DELTA_BINARY_PACKED);
    }
    Ok(properties.build())
}

fn schema(name: &str, columns: &[Column<'_>]) -> Result<Type, ParquetError> {
    let columns = columns.iter().filter(|column| !column.is_left_out());
    let columns = columns.map(|column| typed(column.field()).map(Arc::new));
    let columns: Vec<_> = columns.collect::<Result<_, _>>()?;
    Type::group_type_builder(name).with_fields(columns).build()
}

fn typed(field: Field) -> Result<Type, ParquetError> {
    let (physical, logical) = match field.kind {
        Kind::Number | Kind::Bytes => (PhysicalType::INT64, None),
        Kind::Address => (PhysicalType::INT64, Some(LogicalType::integer(64, false))),
        Kind::TimeUs => {
            let logical = LogicalType::timestamp(true, TimeUnit::MICROS);
            (PhysicalType::INT64, Some(logical))
        }
        Kind::Text => (PhysicalType::BYTE_ARRAY, Some(LogicalType::String)),
        Kind::Flag => (PhysicalType::BOOLEAN, None),
    };
    Type::primitive_type_builder(field.typed_name(), physical)
        .with_repetition(Repetition::OPTIONAL)
        .with_logical_type(logical)
        .build()
}
