//! A column of a row group while its values are collected.

use std::mem;
use std::ops::Range;

use bytes::Bytes;
use parquet::basic::Encoding;
use parquet::column::writer::ColumnCloseResult;
use parquet::errors::ParquetError;
use parquet::file::statistics::{Statistics, ValueStatistics};
use parquet::schema::types::ColumnDescPtr;
use vramscope_core::fleet::stack_keys::StackKeys;
use vramscope_core::tables::{self, Field, Kind, Of, Value};

use super::dictionary::{Dictionary, Stacks, Texts, places};
use super::encoding::{differences, flags, runs_or_bits};
use super::pages::{Encoded, Packer};

pub(crate) struct Column<'a> {
    field: Field,
    cells: Cells<'a>,
    known: Known,
}

/// Which rows have a value.
#[derive(Default)]
struct Known {
    /// Runs of rows with or without one, and their lengths.
    runs: Vec<(bool, usize)>,
    nulls: usize,
}

impl Known {
    fn push(&mut self, is_known: bool, times: usize) {
        if !is_known {
            self.nulls += times;
        }
        match self.runs.last_mut() {
            Some((last, all)) if *last == is_known => *all += times,
            _ => self.runs.push((is_known, times)),
        }
    }
}

enum Cells<'a> {
    Integers(Vec<i64>),
    Texts(Texts),
    Flags(Vec<bool>),
    /// The same text in every row.
    Same(&'a str),
    /// Stacks, written as their keys.
    Stacks(Stacks<'a>),
    /// The column is not in the file.
    LeftOut,
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

    /// A column of texts that takes stack numbers and writes the stacks' keys.
    pub(crate) fn keys(field: Field, keys: &'a StackKeys<'a>) -> Self {
        let stacks = Stacks {
            keys,
            places: vec![0; keys.len()],
            texts: Texts::default(),
        };
        Self::with(field, Cells::Stacks(stacks))
    }

    /// A column whose values are left out.
    pub(crate) fn left_out(field: Field) -> Self {
        Self::with(field, Cells::LeftOut)
    }

    fn with(field: Field, cells: Cells<'a>) -> Self {
        Self {
            field,
            cells,
            known: Known::default(),
        }
    }

    pub(super) fn field(&self) -> Field {
        self.field
    }

    pub(super) fn takes_values(&self) -> bool {
        !matches!(self.cells, Cells::Same(_))
    }

    pub(super) fn is_left_out(&self) -> bool {
        matches!(self.cells, Cells::LeftOut)
    }

    /// Adds a row. Returns the number of bytes by which texts grew.
    pub(super) fn push(&mut self, value: &Value<'_>) -> usize {
        if self.is_left_out() {
            return 0;
        }
        let mut grown = 0;
        let is_known = match (&mut self.cells, value) {
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
            (Cells::Stacks(stacks), Value::Number(stack)) => stacks.push(*stack),
            _ => false,
        };
        self.known.push(is_known, 1);
        grown
    }

    /// Fills the column with rows of a long table. It must be empty.
    pub(super) fn fill(&mut self, of: &tables::Cells<'_>, rows: Range<usize>, spare: &mut Packer) {
        use tables::Cells as Given;
        let known = &mut self.known;
        let mut all = |is_known: bool| known.push(is_known, rows.len());
        match (&mut self.cells, of) {
            (Cells::Same(_) | Cells::LeftOut, _) => {}
            (Cells::Integers(cells), Given::Integers(of)) => {
                mem::swap(cells, &mut spare.integers);
                cells.reserve(rows.len());
                let is_size = self.field.kind == Kind::Bytes;
                let cut = |value| match is_size && value < 0 {
                    true => i64::MAX,
                    false => value,
                };
                each_block(&**of, rows, |block| {
                    for run in block.chunk_by(|a, b| a.is_some() == b.is_some()) {
                        known.push(run[0].is_some(), run.len());
                        if run[0].is_some() {
                            cells.extend(run.iter().map(|value| cut(value.unwrap_or(0))));
                        }
                    }
                });
            }
            (Cells::Texts(_), Given::Texts(of)) if of.all.iter().all(|text| text.is_empty()) => {
                all(false);
            }
            (Cells::Texts(texts), Given::Texts(of)) => fill_texts(texts, known, of, rows),
            (Cells::Texts(texts), Given::Made(of)) => {
                all(true);
                each_block(&**of, rows, |block| {
                    for text in block {
                        texts.push(text);
                    }
                });
            }
            (Cells::Flags(cells), Given::Flags(of)) => {
                all(true);
                of.append(rows, cells);
            }
            (Cells::Stacks(stacks), Given::Integers(of)) => {
                each_block(&**of, rows, |block| {
                    for stack in block {
                        known.push(stack.is_some_and(|stack| stacks.push(stack)), 1);
                    }
                });
            }
            // Columns of their kinds hold nothing else.
            _ => all(false),
        }
    }

    /// Encodes the column, and empties it.
    pub(super) fn chunk(
        &mut self,
        rows: usize,
        of_schema: ColumnDescPtr,
        packer: &mut Packer,
    ) -> Result<(Bytes, ColumnCloseResult), ParquetError> {
        let mut levels = Vec::new();
        let mut known = mem::take(&mut self.known);
        if !self.takes_values() {
            known.push(true, rows);
        }
        let runs = known.runs.iter();
        let bits = runs.map(|&(is_known, times)| (is_known.into(), times));
        runs_or_bits(bits, 1, &mut levels);
        let mut data = (levels.len() as u32).to_le_bytes().to_vec();
        data.append(&mut levels);
        let encoded = self.encode(rows, known.nulls, &mut data);
        if let Cells::Integers(cells) = &mut self.cells {
            mem::swap(cells, &mut packer.integers);
        }
        encoded.chunk(rows, data, of_schema, packer)
    }

    /// Appends the values to `data`, and empties the column.
    fn encode(&mut self, rows: usize, nulls: usize, data: &mut Vec<u8>) -> Encoded {
        match &mut self.cells {
            Cells::Integers(values) => {
                let is_address = self.field.kind == Kind::Address;
                let statistics = bounds(values, is_address, nulls);
                let encoded = integers(values, statistics, data);
                values.clear();
                encoded
            }
            Cells::Texts(texts) => mem::take(texts).encode(nulls, data),
            Cells::Stacks(stacks) => {
                stacks.places.fill(0);
                mem::take(&mut stacks.texts).encode(nulls, data)
            }
            Cells::Same(text) => {
                let mut texts = Texts::default();
                texts.push(text);
                texts.places.resize(rows, 0);
                texts.encode(nulls, data)
            }
            Cells::LeftOut => Texts::default().encode(nulls, data),
            Cells::Flags(values) => {
                flags(values, data);
                values.clear();
                let known =
                    ValueStatistics::<bool>::new(None, None, None, Some(nulls as u64), false);
                Encoded::without_dictionary(Encoding::PLAIN, Statistics::Boolean(known))
            }
        }
    }
}

/// Adds texts that rows share: each is looked up once.
fn fill_texts(texts: &mut Texts, known: &mut Known, of: &tables::Texts<'_>, rows: Range<usize>) {
    texts.places.reserve(rows.len());
    let mut places = vec![None; of.all.len()];
    each_block(&*of.of, rows, |block| {
        for &number in block {
            let text = of.all.get(number).copied().unwrap_or("");
            known.push(!text.is_empty(), 1);
            if !text.is_empty() {
                let place = &mut places[number];
                let place = place.get_or_insert_with(|| texts.find_or_add(text).0);
                texts.places.push(*place);
            }
        }
    });
}

/// Passes on the values of rows, in blocks that fit the processor's cache.
fn each_block<T>(of: &dyn Of<T>, rows: Range<usize>, mut take: impl FnMut(&[T])) {
    const ROWS: usize = 1024;
    let mut block = Vec::with_capacity(ROWS);
    for from in rows.clone().step_by(ROWS) {
        block.clear();
        of.append(from..rows.end.min(from + ROWS), &mut block);
        take(&block);
    }
}

/// The value as an integer, for a column of integers.
fn integer(value: &Value<'_>) -> Option<i64> {
    match value {
        Value::Number(number) | Value::TimeUs(number) => Some(*number),
        Value::Bytes(bytes) => Some(i64::try_from(*bytes).unwrap_or(i64::MAX)),
        Value::Address(address) => Some(address.cast_signed()),
        Value::None | Value::Text(_) | Value::Flag(_) => None,
    }
}

/// The least and the greatest value.
fn bounds(values: &[i64], is_address: bool, nulls: usize) -> Statistics {
    // Addresses are ordered as unsigned numbers.
    let turned = if is_address { i64::MIN } else { 0 };
    let all = values.iter().map(|value| value ^ turned);
    let (least, most) = all.fold((i64::MAX, i64::MIN), |(least, most), value| {
        (value.min(least), value.max(most))
    });
    let known = |value: i64| (!values.is_empty()).then_some(value ^ turned);
    let nulls = Some(nulls as u64);
    Statistics::Int64(ValueStatistics::new(
        known(least),
        known(most),
        None,
        nulls,
        false,
    ))
}

/// Appends integers in the shorter form: as indices into a dictionary, or as differences.
fn integers(values: &[i64], statistics: Statistics, data: &mut Vec<u8>) -> Encoded {
    let mut by_difference = Vec::new();
    let dictionary = Dictionary::of(values);
    let length = dictionary.as_ref().map(|dictionary| dictionary.bytes());
    // A few values are short in any case.
    if length.is_none_or(|bytes| bytes > values.len()) {
        differences(values, &mut by_difference);
    }
    match dictionary {
        Some(found) if by_difference.is_empty() || found.bytes() <= by_difference.len() => {
            let plain = found.values.iter().flat_map(|value| value.to_le_bytes());
            places(&found.places, found.values.len(), data);
            Encoded {
                dictionary: Some((plain.collect(), found.values.len())),
                encoding: Encoding::RLE_DICTIONARY,
                statistics,
            }
        }
        _ => {
            data.append(&mut by_difference);
            Encoded::without_dictionary(Encoding::DELTA_BINARY_PACKED, statistics)
        }
    }
}
