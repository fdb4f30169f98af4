//! Values that are no records, as JSON: `allocator_settings` and what nobody knows.

use serde_json::{Map, Number, Value as Json};

use super::machine::Machine;
use super::value::{DictCell, Value};

/// Values written out at most. A few shared lists can stand for a tree of any size.
const MOST_VALUES: usize = 10_000;

/// Deepest nesting written out.
const DEEPEST: usize = 16;

impl Machine {
    /// A value as JSON. Records, too deep nesting and what exceeds the bound become null.
    pub(super) fn to_json(&self, value: Value) -> Json {
        let mut left = MOST_VALUES;
        self.json_within(value, DEEPEST, &mut left)
    }

    fn json_within(&self, value: Value, depth: usize, left: &mut usize) -> Json {
        if depth == 0 || *left == 0 {
            return Json::Null;
        }
        *left -= 1;
        match value {
            Value::None | Value::Record(_) => Json::Null,
            Value::Bool(flag) => Json::Bool(flag),
            Value::Int(int) => int.into(),
            Value::Big(int) => int.into(),
            Value::Float(float) => Number::from_f64(float).map_or(Json::Null, Json::Number),
            Value::Str(id) => self.tables.strings.get(id).into(),
            Value::Pair(row) => {
                let (first, second) = self.tables.pair_of(row);
                Json::Array(vec![first.into(), second.into()])
            }
            Value::List(list) => {
                let items = self
                    .first_values(self.lists[list as usize], *left)
                    .into_iter();
                Json::Array(
                    items
                        .map(|item| self.json_within(item, depth - 1, left))
                        .collect(),
                )
            }
            Value::Dict(dict) => Json::Object(self.json_object(dict, depth, left)),
        }
    }

    fn json_object(&self, dict: u32, depth: usize, left: &mut usize) -> Map<String, Json> {
        let DictCell::Pairs(row) = self.dict(dict) else {
            return Map::new();
        };
        let mut object = Map::new();
        for &(key, value) in &self.pairs[row as usize] {
            if *left == 0 {
                break;
            }
            let name = match self.value(key) {
                Value::Str(id) => self.tables.strings.get(id).to_owned(),
                other => self.json_within(other, depth - 1, left).to_string(),
            };
            object.insert(name, self.json_within(self.value(value), depth - 1, left));
        }
        object
    }
}
