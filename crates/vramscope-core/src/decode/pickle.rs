//! Runs pickle opcodes (protocols 0 to 5) on the [`Machine`].
//!
//! Only opcodes that make plain data are run. Those that import, build or call objects are refused by
//! name. CPython's `Lib/pickletools.py` describes each of them.

use std::io::BufRead;

use super::integer::{fetched, integer, short_integer, u16_at, u32_at, u64_at};
use super::machine::Machine;
use super::opcode as op;
use super::value::{Fault, Value, malformed};
use super::{Arrival, End, Told};
use crate::ErrorKind;
use crate::container::{Input, WINDOW};
use crate::model::WarningKind;

/// Longest integer in bytes; genuine snapshots have at most 9.
const LONGEST_INTEGER: usize = 1 << 10;

/// Bytes of opcodes for which room is made on the stack at once.
const BURST: usize = 16 << 10;

/// Longest line with a number in protocol 0.
const LONGEST_NUMBER_LINE: usize = 1 << 12;

/// Runs a pickle up to its STOP, and leaves its value on the machine's stack. Reports to `told` after every refill of the
/// input, and then waits for the next bytes to arrive.
pub(super) async fn read(
    input: Box<dyn BufRead + '_>,
    machine: &mut Machine,
    told: &mut Told<'_>,
    arrival: &mut dyn FnMut() -> Option<Arrival>,
) -> End {
    let mut input = Input::new(input);
    let mut opcode = 0;
    let ran = run(&mut input, machine, told, arrival, &mut opcode);
    let fault = ran.await.err();
    // A truncated file is reported where it ends, any other fault at the opcode that caused it.
    let offset = match &fault {
        Some(Fault {
            kind: ErrorKind::Truncated(_),
            ..
        })
        | None => input.offset(),
        Some(_) => opcode,
    };
    if fault.is_none() {
        // torch's HTML appends a few NULs.
        match input.drain() {
            Ok(false) => {}
            Ok(true) => machine.warn(WarningKind::TrailingBytes),
            // The snapshot itself is complete, so damage after it is only a warning.
            Err(error) => machine.warn(error.behind_snapshot()),
        }
    }
    End { fault, offset }
}

/// Runs opcodes up to STOP. `opcode` receives the offset of the current opcode.
async fn run(
    input: &mut Input<'_>,
    machine: &mut Machine,
    told: &mut Told<'_>,
    arrival: &mut dyn FnMut() -> Option<Arrival>,
    opcode: &mut u64,
) -> Result<(), Fault> {
    loop {
        let bytes = input.buffered();
        let bytes = bytes.get(..BURST).unwrap_or(bytes);
        machine.make_room(bytes.len() + 1)?;
        let (length, result) = burst(bytes, machine);
        input.advance(length)?;
        *opcode = input.offset();
        result?;
        let window = match input.window() {
            Some(window) => window,
            None => {
                let window = input.refilled_window()?;
                told.chunk(machine, input.read_bytes())?;
                if let Some(arrival) = arrival() {
                    arrival.await;
                }
                if input.is_exhausted() {
                    return Err(ErrorKind::Truncated("there is no STOP opcode").into());
                }
                window
            }
        };
        if window[0] == op::STOP {
            input.advance(1)?;
            return Ok(());
        }
        step(&window, input, machine)?;
    }
}

/// Runs the opcodes that make up genuine snapshots, as long as each lies wholly within `bytes`, so that `input` is not
/// needed. Stops at the end of `bytes` and at an opcode for [`step`]. Returns the number of bytes processed, and an
/// error if there was one.
#[inline(never)]
fn burst(bytes: &[u8], machine: &mut Machine) -> (usize, Result<(), Fault>) {
    let mut rest = bytes;
    // The rest of these bytes after the last MARK.
    let mut marked: &[u8] = &[];
    // The rest of these bytes from the last EMPTY_DICT on, and the memo's length before it.
    let mut dict: (&[u8], usize) = (&[], 0);
    while let Some(window) = rest.first_chunk::<WINDOW>() {
        let (length, result) = match window[0] {
            op::BINGET | op::LONG_BINGET => {
                let (done, result) = gets(rest, machine);
                if result.is_err() {
                    return (bytes.len() - rest.len() + done, result);
                }
                (done, result)
            }
            op::MEMOIZE => (1, machine.memoize()),
            op::BININT1 | op::BININT2 | op::BININT | op::LONG1 => match integer(window) {
                Some((length, value)) => (length, push_integer(value, machine)),
                None => break,
            },
            op::SHORT_BINUNICODE => match rest.get(2..2 + usize::from(window[1])) {
                Some(text) => (2 + text.len(), machine.push_text(text)),
                None => break,
            },
            op::MARK => {
                marked = &rest[1..];
                match machine.append_known_stack(marked) {
                    Some(length) => (length, Ok(())),
                    None => (1, machine.mark()),
                }
            }
            op::SETITEMS => {
                let result = machine.set_items();
                let (dict, memo) = dict;
                machine.learn_record(&dict[..(dict.len() + 1).saturating_sub(rest.len())], memo);
                (1, result)
            }
            op::EMPTY_DICT => match machine.push_known_record(rest) {
                Some(length) => (length, Ok(())),
                None => {
                    dict = (rest, machine.memo.len());
                    machine.push_dict();
                    (1, Ok(()))
                }
            },
            op::APPENDS => {
                let result = machine.appends();
                machine.learn_stack(&marked[..(marked.len() + 1).saturating_sub(rest.len())]);
                (1, result)
            }
            op::EMPTY_LIST => {
                machine.push_list();
                (1, Ok(()))
            }
            op::TUPLE2 => (1, machine.tuple(2)),
            _ => break,
        };
        if result.is_err() {
            return (bytes.len() - rest.len(), result);
        }
        rest = rest.get(length..).unwrap_or(&[]);
    }
    (bytes.len() - rest.len(), Ok(()))
}

#[inline(always)]
fn push_integer(value: i64, machine: &mut Machine) -> Result<(), Fault> {
    machine.push(Value::Int(value));
    Ok(())
}

/// Runs the BINGETs and LONG_BINGETs at the beginning of `bytes`. Two of three opcodes are among these, because a
/// stack has one for each frame.
#[inline]
fn gets(bytes: &[u8], machine: &mut Machine) -> (usize, Result<(), Fault>) {
    let mut rest = bytes;
    while let Some(window) = rest.first_chunk::<WINDOW>() {
        let Some((length, index)) = fetched(window) else {
            break;
        };
        if let Err(fault) = machine.get(u64::from(index)) {
            return (bytes.len() - rest.len(), Err(fault));
        }
        rest = rest.get(length..).unwrap_or(&[]);
    }
    (bytes.len() - rest.len(), Ok(()))
}

/// Runs any one opcode.
fn step(window: &[u8; WINDOW], input: &mut Input<'_>, machine: &mut Machine) -> Result<(), Fault> {
    match window[0] {
        op::BINGET => {
            input.advance(2)?;
            machine.get(u64::from(window[1]))
        }
        op::LONG_BINGET => {
            input.advance(5)?;
            machine.get(u64::from(u32_at(window)))
        }
        op::BININT1 => {
            input.advance(2)?;
            push_integer(i64::from(window[1]), machine)
        }
        op::BININT2 => {
            input.advance(3)?;
            push_integer(i64::from(u16_at(window)), machine)
        }
        op::BININT => {
            input.advance(5)?;
            push_integer(i64::from(u32_at(window) as i32), machine)
        }
        op::SHORT_BINUNICODE => {
            input.advance(2)?;
            push_text(usize::from(window[1]), input, machine)
        }
        _ => rare(window, input, machine),
    }
}

/// The remaining opcodes of protocols 2 and up.
#[cold]
fn rare(window: &[u8; WINDOW], input: &mut Input<'_>, machine: &mut Machine) -> Result<(), Fault> {
    let opcode = window[0];
    let size = match opcode {
        op::PROTO => 2,
        op::FRAME | op::BINUNICODE8 | op::BINBYTES8 | op::BYTEARRAY8 | op::BINFLOAT => 9,
        op::BINUNICODE | op::BINBYTES | op::BINSTRING | op::LONG_BINPUT | op::LONG4 => 5,
        op::LONG1 | op::BINPUT | op::SHORT_BINSTRING | op::SHORT_BINBYTES => 2,
        _ => 1,
    };
    input.advance(size)?;
    let length = u64_at(window, 1);
    match opcode {
        op::PROTO => protocol(window[1], machine),
        // Frames only help when reading from a socket, and their length is not trusted.
        op::FRAME => Ok(()),
        op::BINUNICODE | op::BINBYTES | op::BINSTRING => {
            push_text(u32_at(window) as usize, input, machine)
        }
        op::BINUNICODE8 | op::BINBYTES8 | op::BYTEARRAY8 => push_text(
            usize::try_from(length).unwrap_or(usize::MAX),
            input,
            machine,
        ),
        op::SHORT_BINSTRING | op::SHORT_BINBYTES => push_text(window[1] as usize, input, machine),
        op::LONG1 => push_long(window[1] as usize, input, machine),
        op::LONG4 => push_long(u32_at(window) as usize, input, machine),
        op::BINFLOAT => {
            machine.push(Value::Float(f64::from_bits(length.swap_bytes())));
            Ok(())
        }
        op::BINPUT => put(u64::from(window[1]), input, machine),
        op::LONG_BINPUT => put(u64::from(u32_at(window)), input, machine),
        _ => bare(opcode, input, machine),
    }
}

/// Opcodes without an argument, and protocol 0.
fn bare(opcode: u8, input: &mut Input<'_>, machine: &mut Machine) -> Result<(), Fault> {
    match opcode {
        op::MEMOIZE => machine.memoize()?,
        op::MARK => machine.mark()?,
        op::SETITEMS => machine.set_items()?,
        op::APPENDS => machine.appends()?,
        op::EMPTY_DICT => machine.push_dict(),
        op::EMPTY_LIST => machine.push_list(),
        op::TUPLE2 => machine.tuple(2)?,
        op::NONE => machine.push(Value::None),
        op::NEWTRUE => machine.push(Value::Bool(true)),
        op::NEWFALSE => machine.push(Value::Bool(false)),
        op::APPEND => machine.append()?,
        op::SETITEM => machine.set_item()?,
        op::LIST | op::TUPLE => machine.list_from_mark()?,
        op::DICT => machine.dict_from_mark()?,
        op::EMPTY_TUPLE => machine.tuple(0)?,
        op::TUPLE1 => machine.tuple(1)?,
        op::TUPLE3 => machine.tuple(3)?,
        op::POP => {
            // POP on a mark drops the mark.
            if machine.pop().is_err() {
                machine.pop_mark()?;
            }
        }
        op::POP_MARK => machine.pop_mark()?,
        op::DUP => {
            machine.duplicate()?;
        }
        op::INT | op::LONG | op::FLOAT | op::STRING | op::UNICODE | op::PUT | op::GET => {
            return line(opcode, input, machine);
        }
        _ => return Err(refused(opcode).into()),
    }
    Ok(())
}

/// Opcodes of protocol 0, each with the rest of the line as its argument.
fn line(opcode: u8, input: &mut Input<'_>, machine: &mut Machine) -> Result<(), Fault> {
    if matches!(opcode, op::STRING | op::UNICODE) {
        let limit = machine.limits.string_bytes;
        let line = input.take_line(limit)?;
        let text = if opcode == op::UNICODE {
            unescape_unicode(line)
        } else {
            unquote(line)?
        };
        return machine.push_text(&text);
    }
    let text = std::str::from_utf8(input.take_line(LONGEST_NUMBER_LINE)?)
        .ok()
        .ok_or_else(|| malformed("a number is not written in digits"))?
        .trim_end_matches('\r')
        .to_owned();
    match opcode {
        op::INT if text == "00" => machine.push(Value::Bool(false)),
        op::INT if text == "01" => machine.push(Value::Bool(true)),
        op::INT | op::LONG => machine.push(decimal(text.trim_end_matches('L'))?),
        op::FLOAT => {
            machine.push(float(&text)?);
        }
        _ => {
            let index = text
                .parse()
                .ok()
                .ok_or_else(|| malformed(format!("`{text}` is not a memo number")))?;
            if opcode == op::GET {
                return machine.get(index);
            }
            return put(index, input, machine);
        }
    }
    Ok(())
}

fn put(index: u64, input: &Input<'_>, machine: &mut Machine) -> Result<(), Fault> {
    machine.budget.set_unwrapped_bytes(input.read_bytes());
    machine.put(index)
}

fn protocol(version: u8, machine: &mut Machine) -> Result<(), Fault> {
    machine.protocol = version;
    if version <= 5 {
        return Ok(());
    }
    Err(malformed(format!(
        "pickle protocol {version} is newer than any Python writes (0 to 5)"
    )))
}

fn push_text(length: usize, input: &mut Input<'_>, machine: &mut Machine) -> Result<(), Fault> {
    check_length(
        length,
        machine.limits.string_bytes,
        "the length of a string in bytes",
    )?;
    machine.push_text(input.take(length)?)
}

fn push_long(length: usize, input: &mut Input<'_>, machine: &mut Machine) -> Result<(), Fault> {
    check_length(length, LONGEST_INTEGER, "the length of an integer in bytes")?;
    let value = long_integer(input.take(length)?);
    machine.push(value);
    Ok(())
}

fn check_length(length: usize, limit: usize, what: &'static str) -> Result<(), Fault> {
    if length > limit {
        return Err(ErrorKind::Limit {
            what,
            limit: limit as u64,
        }
        .into());
    }
    Ok(())
}

/// Two's complement of any length. Beyond 64 bits only the sign is kept, as an infinity: no field of a snapshot is that
/// large.
fn long_integer(bytes: &[u8]) -> Value {
    let mut low = [0; 8];
    let count = bytes.len().min(8);
    low[..count].copy_from_slice(&bytes[..count]);
    let low = u64::from_le_bytes(low);
    match bytes {
        [] => Value::Int(0),
        _ if bytes.len() <= 8 => Value::Int(short_integer(low, bytes.len())),
        [_, _, _, _, _, _, _, _, high @ ..] => {
            let is_negative = high.last().is_some_and(|&top| top >= 0x80);
            let filler = if is_negative { 0xff } else { 0 };
            match (high.iter().all(|&byte| byte == filler), is_negative) {
                (true, false) => unsigned(low),
                (true, true) if low >> 63 == 1 => Value::Int(low as i64),
                _ => Value::Float(if is_negative {
                    f64::NEG_INFINITY
                } else {
                    f64::INFINITY
                }),
            }
        }
        _ => Value::Int(0),
    }
}

fn unsigned(int: u64) -> Value {
    i64::try_from(int).map_or(Value::Big(int), Value::Int)
}

fn decimal(text: &str) -> Result<Value, Fault> {
    if let Ok(int) = text.parse::<i64>() {
        return Ok(Value::Int(int));
    }
    if let Ok(int) = text.parse::<u64>() {
        return Ok(Value::Big(int));
    }
    float(text)
}

fn float(text: &str) -> Result<Value, Fault> {
    let float = text.parse().ok().map(Value::Float);
    float.ok_or_else(|| malformed(format!("`{text}` is no number")))
}

/// Python's raw-unicode-escape: `\uXXXX` and `\UXXXXXXXX`, everything else as Latin-1.
fn unescape_unicode(line: &[u8]) -> Vec<u8> {
    let push = |text: &mut Vec<u8>, char: char| {
        text.extend_from_slice(char.encode_utf8(&mut [0; 4]).as_bytes());
    };
    let mut text = Vec::new();
    let mut rest = line;
    while let [first, tail @ ..] = rest {
        let digits = match (first, tail.first()) {
            (b'\\', Some(b'u')) => 4,
            (b'\\', Some(b'U')) => 8,
            _ => 0,
        };
        let code = tail
            .get(1..1 + digits)
            .filter(|_| digits > 0)
            .and_then(|hex| u32::from_str_radix(std::str::from_utf8(hex).ok()?, 16).ok());
        match code {
            Some(code) => {
                match char::from_u32(code) {
                    Some(char) => push(&mut text, char),
                    // Not valid UTF-8, so it is replaced and counted where texts are checked.
                    None => text.push(0xff),
                }
                rest = tail.get(1 + digits..).unwrap_or(&[]);
            }
            None => {
                push(&mut text, char::from(*first));
                rest = tail;
            }
        }
    }
    text
}

/// A Python 2 string literal: quotes and backslash escapes.
fn unquote(line: &[u8]) -> Result<Vec<u8>, Fault> {
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    let inner = match line {
        [b'\'', inner @ .., b'\''] | [b'"', inner @ .., b'"'] => inner,
        _ => return Err(malformed("a string is not in quotes")),
    };
    let mut text = Vec::with_capacity(inner.len());
    let mut bytes = inner.iter().copied();
    while let Some(byte) = bytes.next() {
        if byte != b'\\' {
            text.push(byte);
            continue;
        }
        match bytes.next() {
            Some(b'n') => text.push(b'\n'),
            Some(b't') => text.push(b'\t'),
            Some(b'r') => text.push(b'\r'),
            Some(b'x') => {
                let hex = [bytes.next().unwrap_or(b'0'), bytes.next().unwrap_or(b'0')];
                let code = std::str::from_utf8(&hex)
                    .ok()
                    .and_then(|hex| u8::from_str_radix(hex, 16).ok());
                let code =
                    code.ok_or_else(|| malformed("a string has an escape without digits"))?;
                text.push(code);
            }
            Some(other) => text.push(other),
            None => {}
        }
    }
    Ok(text)
}

/// The error for an opcode that is refused.
fn refused(opcode: u8) -> ErrorKind {
    match op::forbidden_name(opcode) {
        Some(name) => ErrorKind::ForbiddenOpcode { name, code: opcode },
        None => ErrorKind::UnknownOpcode(opcode),
    }
}
