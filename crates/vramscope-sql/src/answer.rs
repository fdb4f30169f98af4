//! The answer to a query: its columns, and its rows one after the other while they are computed.

use std::collections::HashSet;
use std::io::{self, Write};
use std::ops::ControlFlow;
use std::sync::Arc;

use datafusion::arrow::array::{RecordBatch, RecordBatchOptions};
use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::SendableRecordBatchStream;
use datafusion::parquet::arrow::ArrowWriter;
use datafusion::parquet::basic::Compression;
use datafusion::parquet::file::properties::WriterProperties;
use futures_util::{StreamExt as _, stream};
use tokio::sync::mpsc::{self, Receiver};
use tokio::task::JoinHandle;

use crate::engine::Engine;
use crate::error::Error;
use crate::values::{Cells, Value};

/// Whether to continue.
pub type Flow = ControlFlow<()>;

/// The kind of a column's values.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Whole numbers.
    Integer,
    /// Floating-point numbers.
    Real,
    /// Yes or no.
    Flag,
    /// Times, as text in UTC.
    Time,
    /// Text, and values of no other kind.
    Text,
    /// Lists and structures, as JSON.
    Nested,
}

impl Kind {
    /// Its name in outputs.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Integer => "integer",
            Self::Real => "real",
            Self::Flag => "flag",
            Self::Time => "time",
            Self::Text => "text",
            Self::Nested => "json",
        }
    }

    fn of(kind: &DataType) -> Self {
        match kind {
            DataType::Decimal128(_, 0) => Self::Integer,
            kind if kind.is_integer() => Self::Integer,
            kind if kind.is_numeric() => Self::Real,
            DataType::Boolean => Self::Flag,
            DataType::Timestamp(..) | DataType::Date32 | DataType::Date64 => Self::Time,
            DataType::Dictionary(_, values) => Self::of(values),
            kind if kind.is_nested() => Self::Nested,
            _ => Self::Text,
        }
    }
}

/// A column of an answer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Column {
    /// Its name, unique in the answer.
    pub name: String,
    /// The kind of its values.
    pub kind: Kind,
}

/// An answer. Its rows can be taken once.
pub struct Answer<'e> {
    engine: &'e Engine,
    schema: SchemaRef,
    batches: Receiver<Result<RecordBatch>>,
    /// Ends when all rows are computed.
    computing: JoinHandle<()>,
}

/// Number of batches computed ahead of the reader.
const AHEAD: usize = 2;

impl<'e> Answer<'e> {
    /// Lets a thread of the engine compute the batches after the first, until the answer is dropped.
    pub(crate) fn of(
        engine: &'e Engine,
        first: Option<RecordBatch>,
        others: SendableRecordBatchStream,
    ) -> Self {
        let schema = distinct(&others.schema());
        let mut stream = stream::iter(first.map(Ok)).chain(others);
        let (sender, batches) = mpsc::channel(AHEAD);
        let computing = engine.runtime().spawn(async move {
            while let Some(batch) = stream.next().await {
                if sender.send(batch).await.is_err() {
                    break;
                }
            }
        });
        Self {
            engine,
            schema,
            batches,
            computing,
        }
    }

    /// The columns.
    #[must_use]
    pub fn columns(&self) -> Vec<Column> {
        let fields = self.schema.fields().iter();
        let columns = fields.map(|field| Column {
            name: field.name().clone(),
            kind: Kind::of(field.data_type()),
        });
        columns.collect()
    }

    /// Passes each row to `take`, as a value for each column, until it breaks off.
    ///
    /// # Errors
    /// If the query fails while it runs.
    pub fn for_each_row(
        mut self,
        take: &mut dyn FnMut(&[Value]) -> Flow,
    ) -> std::result::Result<(), Error> {
        let mut row = Vec::new();
        while let Some(batch) = self.next_batch()? {
            let cells = Cells::of(&batch);
            let cells = cells.map_err(|error| self.engine.explained(error, ""))?;
            for place in 0..batch.num_rows() {
                cells.fill(place, &mut row);
                if take(&row).is_break() {
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// Writes all rows as a Parquet file.
    ///
    /// # Errors
    /// If the query or writing fails.
    pub fn write_parquet(
        mut self,
        writer: &str,
        out: &mut dyn Write,
    ) -> std::result::Result<io::Result<u64>, Error> {
        let properties = WriterProperties::builder()
            .set_created_by(writer.to_owned())
            .set_compression(Compression::ZSTD(Default::default()))
            .build();
        // The library requires a writer that can move to another thread, so each row group is first written into memory.
        let schema = Arc::clone(&self.schema);
        let file = ArrowWriter::try_new(Vec::new(), schema, Some(properties));
        let mut file = file.map_err(|error| self.failed(error.into()))?;
        let mut rows = 0;
        while let Some(batch) = self.next_batch()? {
            rows += batch.num_rows() as u64;
            let written = file.write(&batch);
            written.map_err(|error| self.failed(error.into()))?;
            if let Err(error) = out.write_all(file.inner()) {
                return Ok(Err(error));
            }
            file.inner_mut().clear();
        }
        let rest = file.into_inner();
        let rest = rest.map_err(|error| self.failed(error.into()))?;
        Ok(out.write_all(&rest).map(|()| rows))
    }

    fn failed(&self, error: DataFusionError) -> Error {
        self.engine.explained(error, "")
    }

    /// The next rows, under the names of [`Self::columns`].
    fn next_batch(&mut self) -> std::result::Result<Option<RecordBatch>, Error> {
        let next = match self.batches.blocking_recv() {
            // If the engine failed there, rows are missing.
            None => self
                .engine
                .runtime()
                .block_on(&mut self.computing)
                .err()
                .map(|error| Err(DataFusionError::ExecutionJoin(Box::new(error)))),
            next => next,
        };
        let named = next.transpose().and_then(|batch| {
            batch
                .map(|batch| renamed(&batch, Arc::clone(&self.schema)))
                .transpose()
        });
        named.map_err(|error| self.failed(error))
    }
}

/// The same rows under the names of a schema.
fn renamed(batch: &RecordBatch, schema: SchemaRef) -> Result<RecordBatch> {
    // A batch without columns has rows, too.
    let rows = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    let columns = batch.columns().to_vec();
    Ok(RecordBatch::try_new_with_options(schema, columns, &rows)?)
}

/// The same columns with unique names: `select a.rank, b.rank` has the same name twice.
fn distinct(schema: &Schema) -> SchemaRef {
    let mut taken = HashSet::new();
    let fields = schema.fields().iter().map(|field| {
        let mut name = field.name().clone();
        let mut number = 2;
        while !taken.insert(name.clone()) {
            name = format!("{}_{number}", field.name());
            number += 1;
        }
        Field::clone(field).with_name(name)
    });
    Arc::new(Schema::new(fields.collect::<Vec<_>>()))
}
