//! A column of a row group: its values while they come.

use std::collections::HashSet;
use std::ops::Range;

use bytes::Bytes;
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::writer::SerializedColumnWriter;
use vramscope_core::fleet::stack_keys::{StackKeys, hex};
use vramscope_core::ids::StackId;
use vramscope_core::tables::{self, Field, Kind, Of, Value};

/// A column that is being filled.
pub(crate) struct Column<'a> {
    field: Field,
    cells: Cells<'a>,
    /// Per row: 1 if it has a value, else 0.
    levels: Vec<i16>,
}

/// The values of the rows that have one.
enum Cells<'a> {
    Integers(Vec<i64>),
    Texts(Texts),
    Flags(Vec<bool>),
    /// The same text in every row.
    Same(&'a str),
    /// The keys of stacks.
    Keys(Keys<'a>),
    /// Nothing: the column is not in the file.
    LeftOut,
}

/// Texts, each in memory once.
#[derive(Default)]
struct Texts {
    rows: Vec<ByteArray>,
    distinct: HashSet<Bytes>,
}

impl Texts {
    /// Adds a row. Returns by how many bytes the distinct texts grew.
    fn push(&mut self, text: &str) -> usize {
        if let Some(known) = self.distinct.get(text.as_bytes()) {
            self.rows.push(known.clone().into());
            return 0;
        }
        let new = Bytes::copy_from_slice(text.as_bytes());
        self.rows.push(new.clone().into());
        self.distinct.insert(new);
        text.len()
    }
}

/// The keys of stacks, as text: each is made once.
struct Keys<'a> {
    of: &'a StackKeys<'a>,
    /// By stack.
    made: Vec<Option<ByteArray>>,
    rows: Vec<ByteArray>,
}

impl Keys<'_> {
    /// Adds a row, if the stack has a key.
    fn push(&mut self, stack: i64) -> bool {
        let row = usize::try_from(stack).unwrap_or(usize::MAX);
        let Some(made) = self.made.get_mut(row) else {
            return false;
        };
        let Some(key) = self.of.get(StackId::from_index(row)) else {
            return false;
        };
        let text = made.get_or_insert_with(|| hex(key).into_bytes().into());
        self.rows.push(text.clone());
        true
    }
}

impl<'a> Column<'a> {
    /// A column of the values of a field.
    pub(crate) fn of(field: Field) -> Self {
        let cells = match field.kind {
            Kind::Number | Kind::Bytes | Kind::Address | Kind::TimeUs => {
                Cells::Integers(Vec::new())
            }
            Kind::Text => Cells::Texts(Texts::default()),
            Kind::Flag => Cells::Flags(Vec::new()),
        };
        Self::with(field, cells)
    }

    /// A column with the same text in every row. It takes no values.
    pub(crate) fn same(field: Field, text: &'a str) -> Self {
        Self::with(field, Cells::Same(text))
    }

    /// A column of texts that takes stacks' numbers, and has their keys.
    pub(crate) fn keys(field: Field, keys: &'a StackKeys<'a>) -> Self {
        let keys = Keys {
            of: keys,
            made: vec![None; keys.len()],
            rows: Vec::new(),
        };
        Self::with(field, Cells::Keys(keys))
    }

    /// No column: its values are left out.
    pub(crate) fn left_out(field: Field) -> Self {
        Self::with(field, Cells::LeftOut)
    }

    fn with(field: Field, cells: Cells<'a>) -> Self {
        Self {
            field,
            cells,
            levels: Vec::new(),
        }
    }

    pub(super) fn field(&self) -> Field {
        self.field
    }

    pub(super) fn takes_values(&self) -> bool {
        !matches!(self.cells, Cells::Same(_))
    }

    /// Whether the order of its values means nothing, so that nobody looks for the least or greatest.
    pub(super) fn is_unordered(&self) -> bool {
        matches!(self.cells, Cells::Same(_) | Cells::Keys(_))
    }

    pub(super) fn is_left_out(&self) -> bool {
        matches!(self.cells, Cells::LeftOut)
    }

    /// Adds a row. Returns by how many bytes texts grew.
    pub(super) fn push(&mut self, value: &Value<'_>) -> usize {
        let mut grown = 0;
        let is_known = match (&mut self.cells, value) {
            (Cells::Same(_) | Cells::LeftOut, _) => return 0,
            (Cells::Integers(cells), value) => {
                integer(value).map(|value| cells.push(value)).is_some()
            }
            (Cells::Texts(texts), Value::Text(text)) => {
                grown = texts.push(text);
                true
            }
            (Cells::Flags(cells), Value::Flag(flag)) => {
                cells.push(*flag);
                true
            }
            (Cells::Keys(keys), Value::Number(stack)) => keys.push(*stack),
            _ => false,
        };
        self.levels.push(is_known.into());
        grown
    }

    /// Fills the column with rows of a long table. It must be empty.
    pub(super) fn fill(&mut self, of: &tables::Cells<'_>, rows: Range<usize>) {
        use tables::Cells as Given;
        let levels = &mut self.levels;
        levels.reserve(rows.len());
        match (&mut self.cells, of) {
            (Cells::Same(_) | Cells::LeftOut, _) => {}
            (Cells::Integers(cells), Given::Integers(of)) => {
                cells.reserve(rows.len());
                let is_size = self.field.kind == Kind::Bytes;
                let cut = |value| match is_size && value < 0 {
                    true => i64::MAX,
                    false => value,
                };
                for_each(&**of, rows, |value| {
                    levels.push(value.is_some().into());
                    cells.extend(value.map(cut));
                });
            }
            (Cells::Texts(texts), Given::Texts(of)) => {
                let all = of.all.iter().map(|&text| ByteArray::from(text));
                let all: Vec<_> = all.collect();
                texts.rows.reserve(rows.len());
                for_each(&*of.of, rows, |number| {
                    let text = all.get(number).filter(|text| !text.is_empty());
                    levels.push(text.is_some().into());
                    texts.rows.extend(text.cloned());
                });
            }
            (Cells::Texts(texts), Given::Made(of)) => for_each(&**of, rows, |text| {
                levels.push(1);
                texts.push(&text);
            }),
            (Cells::Flags(cells), Given::Flags(of)) => {
                levels.resize(rows.len(), 1);
                of.append(rows, cells);
            }
            (Cells::Keys(keys), Given::Integers(of)) => {
                keys.rows.reserve(rows.len());
                for_each(&**of, rows, |stack| {
                    levels.push(stack.is_some_and(|stack| keys.push(stack)).into());
                });
            }
            // Nothing else is in columns of their kinds.
            _ => levels.resize(rows.len(), 0),
        }
    }

    /// Writes the column, of so many rows, and empties it.
    pub(super) fn write(
        &mut self,
        rows: usize,
        to: &mut SerializedColumnWriter<'_>,
    ) -> Result<(), ParquetError> {
        let levels = Some(&*self.levels);
        match &mut self.cells {
            Cells::Integers(values) => {
                to.typed::<Int64Type>().write_batch(values, levels, None)?;
                values.clear();
            }
            Cells::Texts(texts) => {
                let of = to.typed::<ByteArrayType>();
                of.write_batch(&texts.rows, levels, None)?;
                *texts = Texts::default();
            }
            Cells::Keys(keys) => {
                let of = to.typed::<ByteArrayType>();
                of.write_batch(&keys.rows, levels, None)?;
                keys.rows.clear();
            }
            Cells::Same(text) => {
                let values = vec![ByteArray::from(*text); rows];
                let of = to.typed::<ByteArrayType>();
                of.write_batch(&values, Some(&vec![1; rows]), None)?;
            }
            Cells::Flags(values) => {
                to.typed::<BoolType>().write_batch(values, levels, None)?;
                values.clear();
            }
            Cells::LeftOut => {}
        }
        self.levels.clear();
        Ok(())
    }
}

/// Hands out the values of rows. They are taken in blocks that stay in the processor's cache.
fn for_each<T>(of: &dyn Of<T>, rows: Range<usize>, mut take: impl FnMut(T)) {
    const ROWS: usize = 1024;
    let mut block = Vec::with_capacity(ROWS);
    for from in rows.clone().step_by(ROWS) {
        of.append(from..rows.end.min(from + ROWS), &mut block);
        block.drain(..).for_each(&mut take);
    }
}

/// What a column of integers has of a value.
fn integer(value: &Value<'_>) -> Option<i64> {
    match value {
        Value::Number(number) | Value::TimeUs(number) => Some(*number),
        Value::Bytes(bytes) => Some(i64::try_from(*bytes).unwrap_or(i64::MAX)),
        Value::Address(address) => Some(address.cast_signed()),
        Value::None | Value::Text(_) | Value::Flag(_) => None,
    }
}
