//! The Python dialect is held against the real CPython, where one is at hand.

use std::process::{Command, Stdio};

use super::value::Value;
use super::{Dialect, op};

/// Runs python3 with `program`, `input` on stdin; none when there is no python3.
pub(crate) fn python(program: &str, input: &[u8]) -> Option<String> {
    use std::io::Write as _;
    let mut child = Command::new("python3")
        .args(["-c", program])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| println!("skipped: no python3 ({error})"))
        .ok()?;
    let mut stdin = child.stdin.take().unwrap();
    let input = input.to_vec();
    let feeder = std::thread::spawn(move || stdin.write_all(&input));
    let output = child.wait_with_output().unwrap();
    feeder.join().unwrap().unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    Some(String::from_utf8(output.stdout).unwrap())
}

/// Takes pickles of protocols 0 to 5, each after its length, loads each and dumps it again: the
/// bytes must not change.
const REPICKLE: &str = r"
import sys, pickle
for protocol in range(6):
    length = int.from_bytes(sys.stdin.buffer.read(8), 'little')
    data = sys.stdin.buffer.read(length)
    again = pickle.dumps(pickle.loads(data), protocol)
    at = next((i for i, (a, b) in enumerate(zip(data, again)) if a != b), min(length, len(again)))
    around = slice(max(0, at - 20), at + 20)
    assert data == again, f'protocol {protocol} at {at}: {data[around]} not {again[around]}'
print('same', end='')
";

fn assert_python_agrees(value: &Value) {
    let mut input = Vec::new();
    for protocol in 0..=5 {
        let bytes = value.pickle(Dialect::Python(protocol));
        input.extend((bytes.len() as u64).to_le_bytes());
        input.extend(bytes);
    }
    if let Some(verdict) = python(REPICKLE, &input) {
        assert_eq!(verdict, "same");
    }
}

fn ints(count: i64) -> Value {
    Value::List((0..count).map(Value::from).collect())
}

#[test]
fn scalars() {
    let numbers = [
        0,
        1,
        255,
        256,
        65535,
        65536,
        -1,
        i32::MIN.into(),
        i32::MAX.into(),
    ];
    let wide = [
        1 << 31,
        -(1 << 31) - 1,
        1 << 47,
        (1 << 47) - 1,
        -(1 << 63),
        (1 << 64) - 1,
        1 << 63,
    ];
    let floats = [0.0, -0.5, 1e-7, 1e16, 123_456.789, 5e-5, f64::INFINITY];
    let mut items: Vec<Value> = numbers.into_iter().chain(wide).map(Value::Int).collect();
    items.extend(floats.map(Value::Float));
    items.extend([Value::None, Value::Bool(true), Value::Bool(false)]);
    assert_python_agrees(&Value::List(items));
}

#[test]
fn strings_fresh_shared_interned_and_long() {
    let long = "x".repeat(255);
    let longer = "é".repeat(128);
    let huge = "y".repeat(70_000);
    let texts = [
        "",
        "a",
        "é",
        "",
        "a",
        "é",
        "main.py",
        "main.py",
        "模型\n\\\0\u{1a}😀",
        &long,
        &longer,
    ];
    let mut items: Vec<Value> = texts.map(Value::from).into();
    items.push(Value::from("twice").shared(1));
    items.push(Value::from("twice").shared(1));
    items.push(Value::from(huge.as_str()));
    items.push(Value::from("after"));
    assert_python_agrees(&Value::List(items));
}

#[test]
fn batches_of_lists() {
    for count in [0, 1, 2, 999, 1000, 1001, 2000, 2001] {
        assert_python_agrees(&ints(count));
    }
}

#[test]
fn batches_of_dicts() {
    for count in [0, 1, 2, 999, 1000, 1001, 2000] {
        let items = (0..count).map(|i| (Value::from(i), Value::None)).collect();
        assert_python_agrees(&Value::Dict(items));
    }
}

#[test]
fn tuples_and_sharing() {
    let pair = Value::Tuple(vec![Value::from(0), Value::from(1)]);
    let four = Value::Tuple((0..4).map(Value::from).collect());
    let empty = Value::List(Vec::new()).shared(3);
    let frame = Value::Dict(vec![("name".into(), "f".into()), ("line".into(), 3.into())]).shared(4);
    let stack = Value::List(vec![frame.clone(), frame.clone()]).shared(5);
    let items = vec![
        pair.clone(),
        pair.clone().shared(2),
        pair.shared(2),
        four,
        Value::Tuple(Vec::new()),
        empty.clone(),
        empty,
        stack.clone(),
        frame,
        stack,
    ];
    assert_python_agrees(&Value::List(items));
}

#[test]
fn frames_close_where_cpython_closes_them() {
    let items = (0..40_000)
        .map(|i| Value::from(format!("string {i}").as_str()))
        .collect();
    assert_python_agrees(&Value::List(items));
}

#[test]
fn a_tiny_frame_has_no_header() {
    assert_eq!(
        Value::from(1).pickle(Dialect::Python(4)),
        [op::PROTO, 4, op::BININT1, 1, op::STOP]
    );
}

#[test]
fn cpp_keeps_its_own_rules() {
    let empty = Value::List(Vec::new());
    let value = Value::List(vec![
        empty.clone(),
        empty.clone().shared(0),
        empty.shared(0),
        "ab".into(),
        "ab".into(),
        Value::Int(1 << 40),
        Value::Tuple(vec![0.into(), 1.into()]),
        Value::Dict(Vec::new()),
    ]);
    let expected = b"\x80\x02](](e](eq\x00h\x00X\x02\0\0\0abq\x01h\x01\
        \x8a\x08\0\0\0\0\0\x01\0\0K\x00K\x01\x86}(ue.";
    assert_eq!(value.pickle(Dialect::Cpp), expected);
}

#[test]
fn cpp_writes_a_long_list_in_one_batch() {
    let bytes = ints(3000).pickle(Dialect::Cpp);
    assert_eq!(bytes[..4], [op::PROTO, 2, op::EMPTY_LIST, op::MARK]);
    assert_eq!(bytes[bytes.len() - 2..], [op::APPENDS, op::STOP]);
    assert_eq!(
        bytes.iter().filter(|&&b| b == op::MARK).count(),
        1 + ints_with_byte(op::MARK)
    );
}

/// How often a byte occurs among the arguments of the ints 0..3000 in binary form.
fn ints_with_byte(byte: u8) -> usize {
    (0..3000_u16)
        .flat_map(|i| {
            if i < 256 {
                vec![i as u8]
            } else {
                i.to_le_bytes().to_vec()
            }
        })
        .filter(|&b| b == byte)
        .count()
}
