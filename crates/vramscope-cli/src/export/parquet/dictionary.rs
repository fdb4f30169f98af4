//! Repeated values of a column: the distinct ones, and each row's index among them.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::LazyLock;

use parquet::basic::Encoding;
use parquet::data_type::ByteArray;
use parquet::file::statistics::{Statistics, ValueStatistics};
use vramscope_core::fleet::stack_keys::{StackKeys, hex};
use vramscope_core::ids::StackId;

use super::encoding::{runs_or_bits, width};
use super::pages::Encoded;

/// Maximum length in bytes of a text stored as a column's least or greatest.
const BOUND_BYTES: usize = 64;

/// The distinct values of a column, and each row's index among them.
pub(super) struct Dictionary {
    pub(super) values: Vec<i64>,
    pub(super) places: Vec<u32>,
}

impl Dictionary {
    /// `None` if there are too many to be worth it.
    pub(super) fn of(values: &[i64]) -> Option<Self> {
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

    /// Approximate size in bytes, ignoring runs.
    pub(super) fn bytes(&self) -> usize {
        let bits = width(self.values.len().saturating_sub(1)) as usize;
        self.values.len() * 8 + self.places.len() * bits / 8
    }
}

/// Whether a sample of many values differs so much that a dictionary would be as long as the values.
fn nearly_all_differ(values: &[i64]) -> bool {
    const SOME: usize = 1024;
    let step = values.len() / SOME;
    let some = values.iter().step_by(step.max(1)).take(SOME);
    step > 1 && some.collect::<HashSet<_, Quick>>().len() > SOME * 97 / 100
}

/// Appends indices into a dictionary of this many values.
pub(super) fn places(places: &[u32], values: usize, data: &mut Vec<u8>) {
    let width = width(values.saturating_sub(1));
    data.push(width as u8);
    runs_or_bits(places.iter().map(|&place| (place, 1)), width, data);
}

/// The distinct texts of a column, and each row's index among them.
#[derive(Default)]
pub(super) struct Texts {
    pub(super) places: Vec<u32>,
    /// The distinct texts in Parquet's form: four bytes of length, and the text.
    plain: Vec<u8>,
    /// Where each text begins in `plain`, at its length.
    starts: Vec<usize>,
    by_text: HashMap<Box<str>, u32>,
}

impl Texts {
    /// Adds a row. Returns the number of bytes by which the dictionary grew.
    pub(super) fn push(&mut self, text: &str) -> usize {
        let (place, grown) = match self.places.last() {
            Some(&last) if self.get(last) == text.as_bytes() => (last, 0),
            _ => self.find_or_add(text),
        };
        self.places.push(place);
        grown
    }

    pub(super) fn find_or_add(&mut self, text: &str) -> (u32, usize) {
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
    pub(super) fn encode(self, nulls: usize, data: &mut Vec<u8>) -> Encoded {
        let all = || (0..self.starts.len() as u32).map(|place| self.get(place));
        let bound = |text: Option<&[u8]>| text.map(|text| ByteArray::from(text.to_vec()));
        let is_short = all().all(|text| text.len() <= BOUND_BYTES);
        let (least, most) = match is_short {
            true => (bound(all().min()), bound(all().max())),
            false => (None, None),
        };
        let bounds = ValueStatistics::new(least, most, None, Some(nulls as u64), false);
        let statistics = Statistics::ByteArray(bounds);
        let rows = || self.places.iter().map(|&place| self.with_length(place));
        // Use plain texts if few repeat, provided that the result is not much longer than the dictionary: a text that
        // repeats may be long.
        if self.starts.len() > self.places.len() / 2
            && rows().map(<[u8]>::len).sum::<usize>() <= 2 * self.plain.len()
        {
            rows().for_each(|text| data.extend_from_slice(text));
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

/// The keys of stacks.
pub(super) struct Stacks<'a> {
    pub(super) keys: &'a StackKeys<'a>,
    /// For each stack, its index among the texts plus one; 0 if it has none yet.
    pub(super) places: Vec<u32>,
    pub(super) texts: Texts,
}

impl Stacks<'_> {
    /// Adds a row, if the stack has a key.
    pub(super) fn push(&mut self, stack: i64) -> bool {
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
            // Two stacks that differ only in an installation path have the same key.
            let (found, _) = self.texts.find_or_add(&hex(key));
            self.places[place] = found + 1;
        }
        self.texts.places.push(self.places[place] - 1);
        true
    }
}

/// A hash of numbers: one multiplication each, with a secret, since a file may choose its numbers to do harm.
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

    fn write_i64(&mut self, number: i64) {
        self.write_u64(number.cast_unsigned());
    }
}
