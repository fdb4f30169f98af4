//! Values that are not records, as JSON: `allocator_settings` and the values of unknown keys.

use serde_json::{Map, Number, Value as Json};

use super::machine::Machine;
use super::value::{DictCell, Fault, ListCell, Value};
use crate::model::WarningKind;

/// Most values written out for one value: a few shared lists can represent a tree of any size.
const MOST_VALUES: usize = 10_000;

/// Beyond the first [`MOST_VALUES`], the file must have this many bytes for each value written out: a list can be
/// shared by a million records.
const BYTES_PER_VALUE: usize = 4;

/// Heap bytes of a JSON value, with its key and the spare capacity of its container.
const VALUE_BYTES: usize = 256;

/// Deepest nesting written out.
const DEEPEST: usize = 16;

/// Text written out in all is limited to twice the bytes read plus this, because texts can be shared too.
const SPARE_BYTES: usize = 1 << 20;

/// The amounts that may still be written out.
struct Amounts {
    values: usize,
    bytes: usize,
    /// Values that were not written out. Each counts as one, whatever it contains.
    left_out: u64,
}

impl Amounts {
    /// The beginning of a text, as far as there is room.
    fn clip<'t>(&mut self, text: &'t str) -> &'t str {
        let clipped = &text[..text.floor_char_boundary(self.bytes)];
        self.bytes -= clipped.len();
        self.left_out += u64::from(clipped.len() < text.len());
        clipped
    }

    /// Null for a value that JSON cannot represent.
    fn nothing(&mut self) -> Json {
        self.left_out += 1;
        Json::Null
    }
}

impl Machine {
    /// A value as temporary JSON. Records, values nested too deeply and values beyond the limits become null, are cut or
    /// left out; a warning counts them. `field` is the value's key at the top level; `None` in a record, whose position is
    /// known.
    pub(super) fn json_of(&mut self, value: Value, field: Option<&str>) -> Result<Json, Fault> {
        let read = usize::try_from(self.budget.unwrapped_bytes()).unwrap_or(usize::MAX);
        let values = MOST_VALUES + read / BYTES_PER_VALUE;
        let bytes = read.saturating_mul(2).saturating_add(SPARE_BYTES);
        let values = values.saturating_sub(self.json_values).min(MOST_VALUES);
        let bytes = bytes.saturating_sub(self.json_bytes);
        let bytes = bytes.min(usize::try_from(self.budget.left()).unwrap_or(bytes));
        self.budget.check(values * VALUE_BYTES)?;
        let mut left = Amounts {
            values,
            bytes,
            left_out: 0,
        };
        let json = self.json_within(value, DEEPEST, &mut left)?;
        self.json_values += values - left.values;
        self.json_bytes += bytes - left.bytes;
        if left.left_out > 0 {
            self.warn_at(WarningKind::ValuesLeftOut, left.left_out, field);
        }
        Ok(json)
    }

    /// Like [`json_of`](Self::json_of), for a value that becomes part of the snapshot.
    pub(super) fn kept_json_of(&mut self, value: Value, field: &str) -> Result<Json, Fault> {
        let (values, bytes) = (self.json_values, self.json_bytes);
        let json = self.json_of(value, Some(field))?;
        let added = (self.json_values - values) * VALUE_BYTES + (self.json_bytes - bytes);
        self.budget.check(added)?;
        self.budget.add(added);
        Ok(json)
    }

    fn json_within(&self, value: Value, depth: usize, left: &mut Amounts) -> Result<Json, Fault> {
        if depth == 0 || left.values == 0 {
            left.left_out += u64::from(value != Value::None);
            return Ok(Json::Null);
        }
        left.values -= 1;
        Ok(match value {
            Value::None => Json::Null,
            Value::Record(_) => left.nothing(),
            Value::Bool(flag) => Json::Bool(flag),
            Value::Int(int) => int.into(),
            Value::Big(int) => int.into(),
            Value::Float(float) => match Number::from_f64(float) {
                Some(number) => Json::Number(number),
                // JSON has neither infinity nor NaN.
                None => left.nothing(),
            },
            Value::Str(id) => left.clip(self.tables.strings.get(id)).into(),
            Value::Pair(row) => {
                let (first, second) = self.tables.pair_of(row);
                Json::Array(vec![first.into(), second.into()])
            }
            Value::List(list) => {
                let cell = self.lists[list as usize];
                let items = self.first_values(cell, left.values)?;
                left.left_out += match cell {
                    ListCell::UsedRows | ListCell::UsedText(_) => 1,
                    _ => (self.list_len(list) - items.len()) as u64,
                };
                let items = items.into_iter();
                let items = items.map(|item| self.json_within(item, depth - 1, left));
                Json::Array(items.collect::<Result<_, _>>()?)
            }
            Value::Dict(dict) => Json::Object(self.json_object(dict, depth, left)?),
        })
    }

    fn json_object(
        &self,
        dict: u32,
        depth: usize,
        left: &mut Amounts,
    ) -> Result<Map<String, Json>, Fault> {
        let mut object = Map::new();
        let Some(row) = self.pairs_of(dict) else {
            left.left_out += u64::from(self.dict(dict) != DictCell::Empty);
            return Ok(object);
        };
        let pairs = &self.pairs[row as usize];
        for (place, &(key, value)) in pairs.iter().enumerate() {
            if left.values == 0 {
                left.left_out += (pairs.len() - place) as u64;
                break;
            }
            let name = match self.value(key) {
                Value::Str(id) => left.clip(self.tables.strings.get(id)).to_owned(),
                other => self.json_within(other, depth - 1, left)?.to_string(),
            };
            let json = self.json_within(self.value(value), depth - 1, left)?;
            left.left_out += u64::from(object.insert(name, json).is_some());
        }
        Ok(object)
    }
}
