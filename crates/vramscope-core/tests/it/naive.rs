//! A second reader of pickles, written to be obviously right rather than fast: one tree of shared
//! values, every opcode on its own line. It has no limits and panics on anything odd.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

/// A Python value. Lists and dicts are shared objects, as in Python.
#[derive(Clone, Debug)]
pub(crate) enum Value {
    None,
    Bool(bool),
    Int(i128),
    Float(f64),
    Text(Rc<str>),
    Bytes(Rc<[u8]>),
    List(Rc<RefCell<Vec<Value>>>),
    Tuple(Rc<Vec<Value>>),
    Dict(Rc<RefCell<Vec<(Value, Value)>>>),
}

impl Value {
    /// The value of a key of a dict; the last one counts.
    pub(crate) fn get(&self, key: &str) -> Option<Value> {
        let Value::Dict(entries) = self else {
            return None;
        };
        let entries = entries.borrow();
        entries
            .iter()
            .rev()
            .find(|(name, _)| name.text() == Some(key))
            .map(|(_, value)| value.clone())
    }

    /// The items of a list or tuple.
    pub(crate) fn items(&self) -> Vec<Value> {
        match self {
            Value::List(items) => items.borrow().clone(),
            Value::Tuple(items) => items.to_vec(),
            _ => Vec::new(),
        }
    }

    pub(crate) fn int(&self) -> Option<i128> {
        match self {
            Value::Int(number) => Some(*number),
            Value::Bool(truth) => Some(i128::from(*truth)),
            _ => None,
        }
    }

    pub(crate) fn text(&self) -> Option<&str> {
        match self {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The items of a list that is the value of this dict's key, else nothing.
    pub(crate) fn list(&self, key: &str) -> Vec<Value> {
        self.get(key).map(|value| value.items()).unwrap_or_default()
    }

    /// Everything as JSON, for comparing with other readers. Expands shared values.
    pub(crate) fn json(&self) -> serde_json::Value {
        use serde_json::Value as Json;
        match self {
            Value::None => Json::Null,
            Value::Bool(truth) => Json::Bool(*truth),
            Value::Int(number) => match i64::try_from(*number) {
                Ok(number) => Json::from(number),
                Err(_) => Json::from(u64::try_from(*number).unwrap()),
            },
            Value::Float(number) => Json::from(*number),
            Value::Text(text) => Json::from(&**text),
            Value::Bytes(bytes) => Json::from(bytes.to_vec()),
            Value::List(_) | Value::Tuple(_) => {
                Json::Array(self.items().iter().map(Value::json).collect())
            }
            Value::Dict(entries) => {
                let entries = entries.borrow();
                entries
                    .iter()
                    .map(|(key, value)| (key.text().unwrap().to_owned(), value.json()))
                    .collect()
            }
        }
    }
}

/// The same from JSON.
pub(crate) fn from_json(json: &serde_json::Value) -> Value {
    use serde_json::Value as Json;
    match json {
        Json::Null => Value::None,
        Json::Bool(truth) => Value::Bool(*truth),
        Json::Number(number) => match (number.as_i64(), number.as_u64()) {
            (Some(number), _) => Value::Int(number.into()),
            (_, Some(number)) => Value::Int(number.into()),
            _ => Value::Float(number.as_f64().unwrap()),
        },
        Json::String(text) => Value::Text(text.as_str().into()),
        Json::Array(items) => {
            Value::List(Rc::new(RefCell::new(items.iter().map(from_json).collect())))
        }
        Json::Object(entries) => {
            let entries = entries
                .iter()
                .map(|(key, value)| (Value::Text(key.as_str().into()), from_json(value)));
            Value::Dict(Rc::new(RefCell::new(entries.collect())))
        }
    }
}

struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
    stack: Vec<Value>,
    marks: Vec<usize>,
    memo: HashMap<usize, Value>,
}

/// Reads one pickle.
pub(crate) fn read(bytes: &[u8]) -> Value {
    let mut reader = Reader {
        bytes,
        at: 0,
        stack: Vec::new(),
        marks: Vec::new(),
        memo: HashMap::new(),
    };
    loop {
        let opcode = reader.take(1)[0];
        if opcode == b'.' {
            return reader.pop();
        }
        reader.step(opcode);
    }
}

impl Reader<'_> {
    fn step(&mut self, opcode: u8) {
        match opcode {
            0x80 => drop(self.take(1)),
            0x95 => drop(self.take(8)),
            b'(' => self.marks.push(self.stack.len()),
            b'0' => drop(self.pop()),
            b'N' => self.stack.push(Value::None),
            0x88 => self.stack.push(Value::Bool(true)),
            0x89 => self.stack.push(Value::Bool(false)),
            b'J' | b'K' | b'M' | 0x8a | b'I' | b'L' | b'G' | b'F' => self.number(opcode),
            b'X' | 0x8c | 0x8d | b'V' | b'C' | b'B' => self.text(opcode),
            b']' => self.stack.push(Value::List(Rc::default())),
            b'}' => self.stack.push(Value::Dict(Rc::default())),
            b')' => self.tuple(Some(0)),
            0x85..=0x87 => self.tuple(Some(usize::from(opcode - 0x84))),
            b't' => self.tuple(None),
            b'l' => {
                let items = self.since_mark();
                self.stack.push(Value::List(Rc::new(RefCell::new(items))));
            }
            b'd' => {
                let items = self.since_mark();
                self.stack.push(Value::Dict(Rc::default()));
                self.extend(items);
            }
            b'a' | b's' => {
                let at = self.stack.len() - if opcode == b'a' { 1 } else { 2 };
                let items = self.stack.split_off(at);
                self.extend(items);
            }
            b'e' | b'u' => {
                let items = self.since_mark();
                self.extend(items);
            }
            _ => self.memo(opcode),
        }
    }

    fn memo(&mut self, opcode: u8) {
        let is_get = matches!(opcode, b'h' | b'j' | b'g');
        let index = match opcode {
            0x94 => self.memo.len(),
            b'q' | b'h' => usize::from(self.take(1)[0]),
            b'r' | b'j' => self.unsigned(4),
            b'p' | b'g' => self.line().parse().unwrap(),
            _ => panic!("opcode 0x{opcode:02x} at {}", self.at - 1),
        };
        if is_get {
            self.stack.push(self.memo[&index].clone());
        } else {
            self.memo.insert(index, self.stack.last().unwrap().clone());
        }
    }

    fn number(&mut self, opcode: u8) {
        let value = match opcode {
            b'J' => Value::Int(self.signed(4)),
            b'K' => Value::Int(self.unsigned(1) as i128),
            b'M' => Value::Int(self.unsigned(2) as i128),
            0x8a => {
                let length = self.unsigned(1);
                Value::Int(self.signed(length))
            }
            b'G' => Value::Float(f64::from_be_bytes(self.take(8).try_into().unwrap())),
            b'F' => Value::Float(self.line().parse().unwrap()),
            _ => match self.line().trim_end_matches('L') {
                "00" => Value::Bool(false),
                "01" => Value::Bool(true),
                text => Value::Int(text.parse().unwrap()),
            },
        };
        self.stack.push(value);
    }

    fn text(&mut self, opcode: u8) {
        let length = match opcode {
            0x8c | b'C' => self.unsigned(1),
            b'X' | b'B' => self.unsigned(4),
            0x8d => self.unsigned(8),
            _ => {
                let text = raw_unicode_escape(&self.line());
                return self.stack.push(Value::Text(text.into()));
            }
        };
        let bytes = self.take(length);
        let value = match opcode {
            b'C' | b'B' => Value::Bytes(bytes.into()),
            _ => Value::Text(String::from_utf8_lossy(bytes).into()),
        };
        self.stack.push(value);
    }

    fn tuple(&mut self, count: Option<usize>) {
        let items = match count {
            Some(count) => self.stack.split_off(self.stack.len() - count),
            None => self.since_mark(),
        };
        self.stack.push(Value::Tuple(Rc::new(items)));
    }

    /// Adds items to the list or dict on top.
    fn extend(&mut self, items: Vec<Value>) {
        match self.stack.last().unwrap() {
            Value::List(list) => list.borrow_mut().extend(items),
            Value::Dict(dict) => {
                let mut items = items.into_iter();
                while let (Some(key), Some(value)) = (items.next(), items.next()) {
                    dict.borrow_mut().push((key, value));
                }
            }
            other => panic!("neither list nor dict: {other:?}"),
        }
    }

    fn since_mark(&mut self) -> Vec<Value> {
        let mark = self.marks.pop().unwrap();
        self.stack.split_off(mark)
    }

    fn pop(&mut self) -> Value {
        self.stack.pop().unwrap()
    }

    fn take(&mut self, count: usize) -> &[u8] {
        self.at += count;
        &self.bytes[self.at - count..self.at]
    }

    fn line(&mut self) -> String {
        let length = self.bytes[self.at..]
            .iter()
            .position(|&byte| byte == b'\n')
            .unwrap();
        let line = self.take(length + 1);
        // Protocol 0 writes Latin-1.
        line[..length]
            .iter()
            .map(|&byte| char::from(byte))
            .collect()
    }

    fn unsigned(&mut self, count: usize) -> usize {
        self.take(count)
            .iter()
            .rev()
            .fold(0, |number, &byte| number << 8 | usize::from(byte))
    }

    fn signed(&mut self, count: usize) -> i128 {
        let bytes = self.take(count);
        let negative = bytes.last().is_some_and(|&byte| byte >= 0x80);
        bytes
            .iter()
            .rev()
            .fold(if negative { -1 } else { 0 }, |number, &byte| {
                number << 8 | i128::from(byte)
            })
    }
}

/// Undoes Python's raw-unicode-escape: `\uXXXX` and `\UXXXXXXXX`.
fn raw_unicode_escape(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        out.push_str(&rest[..at]);
        let digits = match rest[at + 1..].chars().next() {
            Some('u') => 4,
            Some('U') => 8,
            _ => 0,
        };
        if digits == 0 {
            out.push('\\');
            rest = &rest[at + 1..];
            continue;
        }
        let code = u32::from_str_radix(&rest[at + 2..at + 2 + digits], 16).unwrap();
        out.push(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER));
        rest = &rest[at + 2 + digits..];
    }
    out + rest
}
