//! A column of a row group: its values while they come, and its pages.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::ops::Range;
use std::sync::LazyLock;
use std::{io, mem, ptr};

use bytes::Bytes;
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::column::page::{CompressedPage, Page, PageWriter as _};
use parquet::column::writer::ColumnCloseResult;
use parquet::data_type::ByteArray;
use parquet::errors::ParquetError;
use parquet::file::metadata::ColumnChunkMetaData;
use parquet::file::statistics::{Statistics, ValueStatistics};
use parquet::file::writer::{SerializedPageWriter, TrackedWrite};
use parquet::schema::types::ColumnDescPtr;
use vramscope_core::fleet::stack_keys::{StackKeys, hex};
use vramscope_core::ids::StackId;
use vramscope_core::tables::{self, Field, Kind, Value};

use super::encoding::{differences, flags, runs_or_bits, width};

/// Longest text that is kept as the least or greatest of a column, in bytes.
const BOUND_BYTES: usize = 64;

/// A column that is being filled.
pub(crate) struct Column<'a> {
    field: Field,
    cells: Cells<'a>,
    known: Known,
}

/// Whether rows have a value.
#[derive(Default)]
struct Known {
    /// And how many of them in a row.
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
    /// Stacks, of which the key is written.
    Stacks(Stacks<'a>),
    /// Nothing: the column is not in the file.
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

    /// A column of texts that takes stacks' numbers, and has their keys.
    pub(crate) fn keys(field: Field, keys: &'a StackKeys<'a>) -> Self {
        let stacks = Stacks {
            keys,
            places: vec![0; keys.len()],
            texts: Texts::default(),
        };
        Self::with(field, Cells::Stacks(stacks))
    }

    /// No column: its values are left out.
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

    /// Adds a row. Returns by how many bytes texts grew.
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
        use tables::Cells as Of;
        let known = &mut self.known;
        let mut all = |is_known: bool| known.push(is_known, rows.len());
        match (&mut self.cells, of) {
            (Cells::Same(_) | Cells::LeftOut, _) => {}
            (Cells::Integers(cells), Of::Integers(of)) => {
                mem::swap(cells, &mut spare.integers);
                cells.reserve(rows.len());
                let is_size = self.field.kind == Kind::Bytes;
                for row in rows {
                    let value = of(row);
                    known.push(value.is_some(), 1);
                    if let Some(value) = value {
                        cells.push(if is_size && value < 0 {
                            i64::MAX
                        } else {
                            value
                        });
                    }
                }
            }
            (Cells::Texts(texts), Of::Texts(of)) => {
                texts.places.reserve(rows.len());
                let mut places = ByAddress::default();
                for row in rows {
                    let text = of(row);
                    known.push(!text.is_empty(), 1);
                    if !text.is_empty() {
                        let place = places.find_or_add(text, || texts.find_or_add(text).0);
                        texts.places.push(place);
                    }
                }
            }
            (Cells::Texts(texts), Of::Made(of)) => {
                all(true);
                for row in rows {
                    texts.push(&of(row));
                }
            }
            (Cells::Flags(cells), Of::Flags(of)) => {
                all(true);
                cells.extend(rows.map(of));
            }
            (Cells::Stacks(stacks), Of::Integers(of)) => {
                for row in rows {
                    known.push(of(row).is_some_and(|stack| stacks.push(stack)), 1);
                }
            }
            // Nothing else is in columns of their kinds.
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

/// What a column of integers has of a value.
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
    // Addresses are in the order of unsigned numbers.
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

/// Appends integers in the shorter way: as places in a dictionary, or as differences.
fn integers(values: &[i64], statistics: Statistics, data: &mut Vec<u8>) -> Encoded {
    let mut by_difference = Vec::new();
    let dictionary = Dictionary::of(values);
    let length = dictionary.as_ref().map(|dictionary| dictionary.bytes());
    // Few values are short in any case.
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

/// The distinct values of a column, and where each row's is among them.
struct Dictionary {
    values: Vec<i64>,
    places: Vec<u32>,
}

impl Dictionary {
    /// `None` if there are too many to be worth it.
    fn of(values: &[i64]) -> Option<Self> {
        let most = (values.len() / 4).max(16);
        if nearly_all_differ(values) {
            return None;
        }
        let mut found = Self {
            values: Vec::new(),
            places: Vec::with_capacity(values.len()),
        };
        let mut known: HashMap<i64, u32, Quick> = HashMap::default();
        let mut last = None;
        for &value in values {
            let place = match last {
                Some((of, place)) if of == value => place,
                _ => *known.entry(value).or_insert_with(|| {
                    found.values.push(value);
                    found.values.len() as u32 - 1
                }),
            };
            if found.values.len() > most {
                return None;
            }
            found.places.push(place);
            last = Some((value, place));
        }
        Some(found)
    }

    /// About how long it is, without runs.
    fn bytes(&self) -> usize {
        let bits = width(self.values.len().saturating_sub(1)) as usize;
        self.values.len() * 8 + self.places.len() * bits / 8
    }
}

/// Whether some of many values differ so much that a dictionary of all would be as long as they are.
fn nearly_all_differ(values: &[i64]) -> bool {
    const SOME: usize = 1024;
    let step = values.len() / SOME;
    let some = values.iter().step_by(step.max(1)).take(SOME);
    step > 1 && some.collect::<HashSet<_, Quick>>().len() > SOME * 97 / 100
}

/// Appends places in a dictionary of so many values.
fn places(places: &[u32], values: usize, data: &mut Vec<u8>) {
    let width = width(values.saturating_sub(1));
    data.push(width as u8);
    runs_or_bits(places.iter().map(|&place| (place, 1)), width, data);
}

/// The distinct texts of a column, and where each row's is among them.
#[derive(Default)]
struct Texts {
    places: Vec<u32>,
    /// The distinct texts as Parquet has them: four bytes of length, and the text.
    plain: Vec<u8>,
    /// Where each begins in it, with its length.
    starts: Vec<usize>,
    by_text: HashMap<Box<str>, u32>,
}

impl Texts {
    /// Adds a row. Returns by how many bytes the dictionary grew.
    fn push(&mut self, text: &str) -> usize {
        let (place, grown) = match self.places.last() {
            Some(&last) if self.get(last) == text.as_bytes() => (last, 0),
            _ => self.find_or_add(text),
        };
        self.places.push(place);
        grown
    }

    fn find_or_add(&mut self, text: &str) -> (u32, usize) {
        if let Some(&place) = self.by_text.get(text) {
            return (place, 0);
        }
        let place = self.add(text);
        self.by_text.insert(text.into(), place);
        (place, text.len())
    }

    /// Adds a text that no row has yet.
    fn add(&mut self, text: &str) -> u32 {
        self.starts.push(self.plain.len());
        self.plain.extend((text.len() as u32).to_le_bytes());
        self.plain.extend(text.as_bytes());
        self.starts.len() as u32 - 1
    }

    /// The bytes of a distinct text.
    fn get(&self, place: u32) -> &[u8] {
        &self.with_length(place)[4..]
    }

    fn with_length(&self, place: u32) -> &[u8] {
        let place = place as usize;
        let end = self.starts.get(place + 1).copied();
        &self.plain[self.starts[place]..end.unwrap_or(self.plain.len())]
    }

    /// Appends the rows to `data`.
    fn encode(self, nulls: usize, data: &mut Vec<u8>) -> Encoded {
        let all = || (0..self.starts.len() as u32).map(|place| self.get(place));
        let bound = |text: Option<&[u8]>| text.map(|text| ByteArray::from(text.to_vec()));
        let is_short = all().all(|text| text.len() <= BOUND_BYTES);
        let (least, most) = match is_short {
            true => (bound(all().min()), bound(all().max())),
            false => (None, None),
        };
        let bounds = ValueStatistics::new(least, most, None, Some(nulls as u64), false);
        let statistics = Statistics::ByteArray(bounds);
        let rows = self.places.iter();
        let plain_bytes: usize = rows.map(|&place| self.with_length(place).len()).sum();
        // Where few repeat; and not much longer than the dictionary, as a text that repeats may be long.
        if self.starts.len() > self.places.len() / 2 && plain_bytes <= 2 * self.plain.len() {
            data.reserve(plain_bytes);
            for &place in &self.places {
                data.extend_from_slice(self.with_length(place));
            }
            return Encoded::without_dictionary(Encoding::PLAIN, statistics);
        }
        places(&self.places, self.starts.len(), data);
        Encoded {
            dictionary: Some((self.plain, self.starts.len())),
            encoding: Encoding::RLE_DICTIONARY,
            statistics,
        }
    }
}

/// Places by where a text is, for texts that stay there: most come from the snapshot's tables again and again.
#[derive(Default)]
struct ByAddress<'t> {
    known: HashMap<(usize, usize), u32, Quick>,
    last: Option<(&'t str, u32)>,
}

impl<'t> ByAddress<'t> {
    fn find_or_add(&mut self, text: &'t str, place: impl FnOnce() -> u32) -> u32 {
        if let Some((last, place)) = self.last
            && ptr::eq(last, text)
        {
            return place;
        }
        let address = (text.as_ptr() as usize, text.len());
        let place = *self.known.entry(address).or_insert_with(place);
        self.last = Some((text, place));
        place
    }
}

/// The keys of stacks.
struct Stacks<'a> {
    keys: &'a StackKeys<'a>,
    /// Per stack: one more than its place among the texts; 0 if it has none yet.
    places: Vec<u32>,
    texts: Texts,
}

impl Stacks<'_> {
    /// Adds a row, if the stack has a key.
    fn push(&mut self, stack: i64) -> bool {
        let Some(place) = usize::try_from(stack)
            .ok()
            .filter(|&row| row < self.places.len())
        else {
            return false;
        };
        if self.places[place] == 0 {
            let Some(key) = self.keys.get(StackId::from_index(place)) else {
                return false;
            };
            // Two stacks that differ in an installation alone have the same key.
            let (found, _) = self.texts.find_or_add(&hex(key));
            self.places[place] = found + 1;
        }
        self.texts.places.push(self.places[place] - 1);
        true
    }
}

/// A column's values, encoded.
struct Encoded {
    /// The distinct values, and how many there are.
    dictionary: Option<(Vec<u8>, usize)>,
    encoding: Encoding,
    statistics: Statistics,
}

impl Encoded {
    fn without_dictionary(encoding: Encoding, statistics: Statistics) -> Self {
        Self {
            dictionary: None,
            encoding,
            statistics,
        }
    }

    /// Makes the pages, with `data` as the levels and values.
    fn chunk(
        self,
        rows: usize,
        data: Vec<u8>,
        of_schema: ColumnDescPtr,
        packer: &mut Packer,
    ) -> Result<(Bytes, ColumnCloseResult), ParquetError> {
        let mut sink = TrackedWrite::new(Vec::new());
        let mut pages = SerializedPageWriter::new(&mut sink);
        let mut uncompressed_bytes = 0;
        let mut encodings = vec![Encoding::RLE, self.encoding];
        let has_dictionary = self.dictionary.is_some();
        if let Some((plain, count)) = self.dictionary {
            let page = Page::DictionaryPage {
                buf: packer.pack(&plain)?,
                num_values: count as u32,
                encoding: Encoding::PLAIN,
                is_sorted: false,
            };
            let written = pages.write_page(CompressedPage::new(page, plain.len()))?;
            uncompressed_bytes += written.uncompressed_size;
            encodings.push(Encoding::PLAIN);
        }
        let page = Page::DataPage {
            buf: packer.pack(&data)?,
            num_values: rows as u32,
            encoding: self.encoding,
            def_level_encoding: Encoding::RLE,
            rep_level_encoding: Encoding::RLE,
            statistics: None,
        };
        let written = pages.write_page(CompressedPage::new(page, data.len()))?;
        uncompressed_bytes += written.uncompressed_size;
        let bytes = Bytes::from(sink.into_inner()?);
        let metadata = ColumnChunkMetaData::builder(of_schema)
            .set_encodings(encodings)
            .set_compression(Compression::ZSTD(packer.level))
            .set_num_values(rows as i64)
            .set_total_compressed_size(bytes.len() as i64)
            .set_total_uncompressed_size(uncompressed_bytes as i64)
            .set_dictionary_page_offset(has_dictionary.then_some(0))
            .set_data_page_offset(written.offset as i64)
            .set_statistics(self.statistics)
            .build()?;
        let close = ColumnCloseResult {
            bytes_written: bytes.len() as u64,
            rows_written: rows as u64,
            metadata,
            bloom_filter: None,
            column_index: None,
            offset_index: None,
        };
        Ok((bytes, close))
    }
}

/// Compresses pages, with one state for all of them, and keeps room for one column at a time.
pub(super) struct Packer {
    level: ZstdLevel,
    zstd: zstd::bulk::Compressor<'static>,
    integers: Vec<i64>,
}

impl Packer {
    pub(super) fn new(level: i32) -> io::Result<Self> {
        Ok(Self {
            level: ZstdLevel::try_new(level).map_err(io::Error::other)?,
            zstd: zstd::bulk::Compressor::new(level)?,
            integers: Vec::new(),
        })
    }

    fn pack(&mut self, bytes: &[u8]) -> Result<Bytes, ParquetError> {
        let packed = self.zstd.compress(bytes);
        Ok(packed
            .map_err(|error| ParquetError::External(Box::new(error)))?
            .into())
    }
}

/// The hash of numbers: one multiplication each, with a secret, as a file may choose its numbers to do harm.
#[derive(Clone, Copy)]
struct Quick {
    secret: u64,
}

impl Default for Quick {
    fn default() -> Self {
        static SECRET: LazyLock<u64> = LazyLock::new(|| RandomState::new().hash_one(0));
        Self { secret: *SECRET }
    }
}

impl BuildHasher for Quick {
    type Hasher = QuickHasher;

    fn build_hasher(&self) -> QuickHasher {
        QuickHasher(self.secret)
    }
}

struct QuickHasher(u64);

impl Hasher for QuickHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&byte| self.write_u64(byte.into()));
    }

    fn write_u64(&mut self, number: u64) {
        let product = u128::from(self.0 ^ number) * 0x9e37_79b9_7f4a_7c15;
        self.0 = product as u64 ^ (product >> 64) as u64;
    }

    fn write_usize(&mut self, number: usize) {
        self.write_u64(number as u64);
    }

    fn write_i64(&mut self, number: i64) {
        self.write_u64(number.cast_unsigned());
    }
}
