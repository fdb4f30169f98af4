//! A table in Arrow's layout, which polars, DuckDB and pyarrow import without copying.
//!
//! The columns are those of `vramscope convert --to parquet`, with the same names and types. Texts repeat, so they are
//! dictionaries; a table is a single batch, which shares them.

use std::sync::Arc;

use arrow_array::builder::{
    ArrayBuilder, BooleanBuilder, Int64Builder, LargeStringBuilder, LargeStringDictionaryBuilder,
    TimestampMicrosecondBuilder, UInt64Builder,
};
use arrow_array::ffi::{FFI_ArrowSchema, to_ffi};
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::types::Int32Type;
use arrow_array::{Array, ArrayRef, RecordBatch, RecordBatchIterator, StructArray};
use arrow_schema::{ArrowError, Field, Schema};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use vramscope_cli::Failure;
use vramscope_cli::opened::Opened;
use vramscope_core::model::DeviceIndex;
use vramscope_core::tables::{self, Kind, Value, for_each_row};

use crate::errors::SnapshotError;

/// Bytes that any file's table may take, plus an allowance for each byte read, after decompression: a hostile file of a
/// few kilobytes may use a stack of thousands of frames thousands of times. A genuine one needs 60.
const FREE_BYTES: u64 = 64 << 20;
const PER_BYTE: u64 = 1_000;

/// The one text column whose values are unique: the names of allocations. A dictionary would only make it larger.
const UNIQUE: &str = "name";

/// A table that other libraries import through Arrow's PyCapsule interface, without copying.
#[pyclass(frozen, module = "vramscope._vramscope")]
pub(crate) struct Table {
    name: &'static str,
    batch: RecordBatch,
}

impl Table {
    /// Makes a table of a snapshot.
    ///
    /// # Errors
    /// When there is no such table or device, or the table would be too large.
    pub(crate) fn of(
        opened: &Opened,
        name: &str,
        device: Option<DeviceIndex>,
    ) -> Result<Self, Failure> {
        let known = tables::Table::ALL;
        let Some(table) = known.into_iter().find(|table| table.name() == name) else {
            let names: Vec<_> = known.map(tables::Table::name).to_vec();
            return Err(Failure::Usage(format!(
                "there is no table {name}; there are {}",
                names.join(", ")
            )));
        };
        let recording = opened.recording();
        let devices: Vec<_> = opened.devices(device)?.collect();
        let fields = table.fields();
        let columns = fields.iter().map(|field| Column::of(table, field));
        let mut columns: Vec<_> = columns.collect();
        let most_bytes = recording.snapshot.source.decoded_bytes;
        let mut left_bytes = most_bytes.saturating_mul(PER_BYTE).max(FREE_BYTES);
        for_each_row(table, recording, &devices, &mut |values| {
            let bytes = values.len() as u64 * size_of::<i64>() as u64;
            left_bytes = left_bytes.checked_sub(bytes).ok_or_else(too_large)?;
            let mut both = columns.iter_mut().zip(values);
            both.try_for_each(|(column, value)| column.push(value))
                .map_err(broken)
        })?;
        let (fields, arrays): (Vec<_>, Vec<_>) = columns.into_iter().map(Column::finish).unzip();
        let batch = RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays).map_err(broken)?;
        Ok(Self {
            name: table.name(),
            batch,
        })
    }
}

#[pymethods]
impl Table {
    #[getter]
    fn name(&self) -> &'static str {
        self.name
    }

    /// The names of its columns.
    #[getter]
    fn column_names(&self) -> Vec<String> {
        let schema = self.batch.schema();
        let names = schema.fields().iter().map(|field| field.name().clone());
        names.collect()
    }

    /// The number of rows.
    fn __len__(&self) -> usize {
        self.batch.num_rows()
    }

    fn __repr__(&self) -> String {
        format!(
            "<vramscope.Table {}: {} rows, {} columns>",
            self.name,
            self.batch.num_rows(),
            self.batch.num_columns()
        )
    }

    /// The schema as a capsule `arrow_schema`.
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let schema = FFI_ArrowSchema::try_from(self.batch.schema_ref().as_ref());
        PyCapsule::new_with_value(py, schema.map_err(refused)?, c"arrow_schema")
    }

    /// Schema and data as capsules `arrow_schema` and `arrow_array`. A reader may request another schema, but gets this
    /// one.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_array__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<(Bound<'py, PyCapsule>, Bound<'py, PyCapsule>)> {
        let _converts_nothing = requested_schema;
        let rows = StructArray::from(self.batch.clone());
        let (array, schema) = to_ffi(&rows.to_data()).map_err(refused)?;
        Ok((
            PyCapsule::new_with_value(py, schema, c"arrow_schema")?,
            PyCapsule::new_with_value(py, array, c"arrow_array")?,
        ))
    }

    /// A stream of one batch as a capsule `arrow_array_stream`. A reader may request another schema, but gets this one.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let _converts_nothing = requested_schema;
        let batches = RecordBatchIterator::new([Ok(self.batch.clone())], self.batch.schema());
        let stream = FFI_ArrowArrayStream::new(Box::new(batches));
        PyCapsule::new_with_value(py, stream, c"arrow_array_stream")
    }
}

struct Column {
    name: &'static str,
    cells: Cells,
}

enum Cells {
    Integers(Int64Builder),
    Addresses(UInt64Builder),
    Times(TimestampMicrosecondBuilder),
    /// Texts that repeat.
    Words(LargeStringDictionaryBuilder<Int32Type>),
    /// Texts that do not.
    Names(LargeStringBuilder),
    Flags(BooleanBuilder),
}

impl Column {
    fn of(table: tables::Table, field: &tables::Field) -> Self {
        let is_unique = table == tables::Table::Allocations && field.name == UNIQUE;
        let cells = match field.kind {
            Kind::Number | Kind::Bytes => Cells::Integers(Int64Builder::new()),
            Kind::Address => Cells::Addresses(UInt64Builder::new()),
            Kind::TimeUs => Cells::Times(TimestampMicrosecondBuilder::new().with_timezone("UTC")),
            Kind::Text if is_unique => Cells::Names(LargeStringBuilder::new()),
            Kind::Text => Cells::Words(LargeStringDictionaryBuilder::new()),
            Kind::Flag => Cells::Flags(BooleanBuilder::new()),
        };
        Self {
            name: field.typed_name(),
            cells,
        }
    }

    /// Adds a value; one of the wrong kind, which no table has, becomes null.
    fn push(&mut self, value: &Value<'_>) -> Result<(), ArrowError> {
        match (&mut self.cells, value) {
            (Cells::Integers(cells), Value::Number(number)) => cells.append_value(*number),
            (Cells::Integers(cells), Value::Bytes(bytes)) => {
                cells.append_value(i64::try_from(*bytes).unwrap_or(i64::MAX));
            }
            (Cells::Addresses(cells), Value::Address(address)) => cells.append_value(*address),
            (Cells::Times(cells), Value::TimeUs(time_us)) => cells.append_value(*time_us),
            (Cells::Words(cells), Value::Text(text)) => {
                cells.append(text)?;
            }
            (Cells::Names(cells), Value::Text(text)) => cells.append_value(text),
            (Cells::Flags(cells), Value::Flag(flag)) => cells.append_value(*flag),
            (Cells::Integers(cells), _) => cells.append_null(),
            (Cells::Addresses(cells), _) => cells.append_null(),
            (Cells::Times(cells), _) => cells.append_null(),
            (Cells::Words(cells), _) => cells.append_null(),
            (Cells::Names(cells), _) => cells.append_null(),
            (Cells::Flags(cells), _) => cells.append_null(),
        }
        Ok(())
    }

    fn finish(mut self) -> (Field, ArrayRef) {
        let array = match &mut self.cells {
            Cells::Integers(cells) => ArrayBuilder::finish(cells),
            Cells::Addresses(cells) => ArrayBuilder::finish(cells),
            Cells::Times(cells) => ArrayBuilder::finish(cells),
            Cells::Words(cells) => ArrayBuilder::finish(cells),
            Cells::Names(cells) => ArrayBuilder::finish(cells),
            Cells::Flags(cells) => ArrayBuilder::finish(cells),
        };
        let field = Field::new(self.name, array.data_type().clone(), true);
        (field, array)
    }
}

fn too_large() -> Failure {
    Failure::Input(
        "this table would take more than 1,000 bytes for each byte of the file: ask for one device, or for another table"
            .to_owned(),
    )
}

/// Rows fit their schema, so the error means that a column has more distinct texts than Arrow can number.
fn broken(error: ArrowError) -> Failure {
    Failure::Input(format!("the table cannot be made: {error}"))
}

fn refused(error: ArrowError) -> PyErr {
    SnapshotError::new_err(format!("the table cannot be exported: {error}"))
}
