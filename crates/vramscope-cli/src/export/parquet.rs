//! Tables as Parquet, for DuckDB, pandas and Spark: flat, every column nullable.
//!
//! Numbers and sizes are signed 64-bit integers (a size beyond 2^63 - 1, which only a damaged file has, is cut
//! to that), addresses unsigned ones, times UTC timestamps in µs: `time_us` is called `time` here. Texts repeat,
//! so they are dictionaries. Pages are compressed with zstd. A row group ends after so many rows or so much
//! text, which is all that is held in memory.

use std::io::{self, Write};
use std::sync::Arc;

use parquet::basic::{
    Compression, LogicalType, Repetition, TimeUnit, Type as PhysicalType, ZstdLevel,
};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::types::Type;
use vramscope_core::tables::{Field, Kind, Table, Value};

use super::tables::for_each;
use super::{WRITER, damage_lines, failed};
use crate::failure::Failure;
use crate::subject::Subject;

/// Most rows of a row group.
const GROUP_ROWS: usize = 1 << 17;
/// Most bytes of text in a row group, before the last row.
const GROUP_TEXT_BYTES: usize = 64 << 20;
/// A level that writers and readers of columnar files agree is a good balance.
const ZSTD_LEVEL: i32 = 3;

pub(crate) fn write(subject: &Subject, table: Table, out: &mut dyn Write) -> Result<(), Failure> {
    let fields = table.fields();
    let level = ZstdLevel::try_new(ZSTD_LEVEL).map_err(broken)?;
    let properties = WriterProperties::builder()
        .set_created_by(WRITER.to_owned())
        .set_compression(Compression::ZSTD(level))
        .set_key_value_metadata(damage(subject))
        .build();
    let schema = schema(table, &fields).map_err(broken)?;
    // The library requires a writer that may move to another thread, which `out` may not. So each row group is
    // written into memory first.
    let mut file = SerializedFileWriter::new(Vec::new(), Arc::new(schema), Arc::new(properties))
        .map_err(broken)?;
    let mut group = Group::of(&fields);
    for_each(subject, table, &mut |values| {
        group.push(values);
        if group.is_full() {
            group.flush(&mut file).map_err(broken)?;
            file.flush().map_err(failed)?;
            out.write_all(file.inner()).map_err(failed)?;
            file.inner_mut().clear();
        }
        Ok(())
    })?;
    group.flush(&mut file).map_err(broken)?;
    let rest = file.into_inner().map_err(broken)?;
    out.write_all(&rest).map_err(failed)
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

fn schema(table: Table, fields: &[Field]) -> Result<Type, ParquetError> {
    let columns = fields.iter().map(|field| column(*field).map(Arc::new));
    let columns: Vec<_> = columns.collect::<Result<_, _>>()?;
    Type::group_type_builder(table.name())
        .with_fields(columns)
        .build()
}

fn column(field: Field) -> Result<Type, ParquetError> {
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

/// The rows of the group that is being filled.
struct Group {
    columns: Vec<Column>,
    rows: usize,
    text_bytes: usize,
}

/// A column's known values, and a definition level for each row: 1 = known, 0 = missing.
struct Column {
    cells: Cells,
    known: Vec<i16>,
}

enum Cells {
    Integers(Vec<i64>),
    Texts(Vec<ByteArray>),
    Flags(Vec<bool>),
}

impl Group {
    fn of(fields: &[Field]) -> Self {
        let columns = fields.iter().map(|field| Column {
            cells: match field.kind {
                Kind::Number | Kind::Bytes | Kind::Address | Kind::TimeUs => {
                    Cells::Integers(Vec::new())
                }
                Kind::Text => Cells::Texts(Vec::new()),
                Kind::Flag => Cells::Flags(Vec::new()),
            },
            known: Vec::new(),
        });
        Self {
            columns: columns.collect(),
            rows: 0,
            text_bytes: 0,
        }
    }

    fn push(&mut self, values: &[Value<'_>]) {
        self.rows += 1;
        for (column, value) in self.columns.iter_mut().zip(values) {
            column.push(value);
            if let Value::Text(text) = value {
                self.text_bytes += text.len();
            }
        }
    }

    fn is_full(&self) -> bool {
        self.rows >= GROUP_ROWS || self.text_bytes >= GROUP_TEXT_BYTES
    }

    fn flush<W: Write + Send>(
        &mut self,
        file: &mut SerializedFileWriter<W>,
    ) -> Result<(), ParquetError> {
        if self.rows == 0 {
            return Ok(());
        }
        let mut group = file.next_row_group()?;
        for column in &mut self.columns {
            if let Some(writer) = group.next_column()? {
                column.write(writer)?;
            }
        }
        group.close()?;
        (self.rows, self.text_bytes) = (0, 0);
        Ok(())
    }
}

impl Column {
    fn push(&mut self, value: &Value<'_>) {
        let is_known = match (&mut self.cells, value) {
            (Cells::Integers(cells), Value::Number(number) | Value::TimeUs(number)) => {
                cells.push(*number);
                true
            }
            (Cells::Integers(cells), Value::Bytes(bytes)) => {
                cells.push(i64::try_from(*bytes).unwrap_or(i64::MAX));
                true
            }
            (Cells::Integers(cells), Value::Address(address)) => {
                cells.push(address.cast_signed());
                true
            }
            (Cells::Texts(cells), Value::Text(text)) => {
                cells.push(ByteArray::from(text.as_ref()));
                true
            }
            (Cells::Flags(cells), Value::Flag(flag)) => {
                cells.push(*flag);
                true
            }
            _ => false,
        };
        self.known.push(is_known.into());
    }

    /// Writes the column and empties it.
    fn write(&mut self, mut writer: SerializedColumnWriter<'_>) -> Result<(), ParquetError> {
        let known = Some(self.known.as_slice());
        match &mut self.cells {
            Cells::Integers(cells) => {
                writer
                    .typed::<Int64Type>()
                    .write_batch(cells, known, None)?;
                cells.clear();
            }
            Cells::Texts(cells) => {
                writer
                    .typed::<ByteArrayType>()
                    .write_batch(cells, known, None)?;
                cells.clear();
            }
            Cells::Flags(cells) => {
                writer.typed::<BoolType>().write_batch(cells, known, None)?;
                cells.clear();
            }
        }
        self.known.clear();
        writer.close()
    }
}
