//! Pickle opcodes (protocols 0 to 5) onto the [`Machine`].
//!
//! Only opcodes that make plain data are run: those that import, build or call objects are refused by
//! name. What each one does is written in CPython's `Lib/pickletools.py`; the names are from there.

use std::io::BufRead;

use super::End;
use super::input::{Input, WINDOW};
use super::machine::Machine;
use super::value::{Fault, Value, malformed};
use crate::ErrorKind;
use crate::model::WarningKind;

/// Longest integer in bytes that is looked at; genuine snapshots have none above 9.
const LONGEST_INTEGER: usize = 1 << 10;

/// Longest line of protocol 0 that holds a number.
const LONGEST_NUMBER_LINE: usize = 1 << 12;

/// Runs a pickle up to its STOP; the value is left on the machine's stack. `on_chunk` is asked after
/// every refill of the input, with the bytes read so far.
pub(super) fn read(
    input: Box<dyn BufRead + '_>,
    machine: &mut Machine,
    on_chunk: &mut dyn FnMut(&mut Machine, u64) -> Result<(), ErrorKind>,
) -> End {
    let mut input = Input::new(input);
    let mut opcode = 0;
    let fault = run(&mut input, machine, on_chunk, &mut opcode).err();
    // What breaks off is told where it breaks off, everything else where its opcode stands.
    let offset = match &fault {
        Some(Fault {
            kind: ErrorKind::Truncated(_),
            ..
        })
        | None => input.offset(),
        Some(_) => opcode,
    };
    if fault.is_none() {
        // A few NULs are what torch's HTML pads with.
        match input.drain() {
            Ok(false) => {}
            Ok(true) => machine.warn(WarningKind::TrailingBytes),
            // The snapshot itself is complete: what is broken behind it costs nobody anything.
            Err(_) => machine.warn(WarningKind::DamagedEnd),
        }
    }
    End { fault, offset }
}

/// `opcode` is told where the opcode at hand begins.
fn run(
    input: &mut Input<'_>,
    machine: &mut Machine,
    on_chunk: &mut dyn FnMut(&mut Machine, u64) -> Result<(), ErrorKind>,
    opcode: &mut u64,
) -> Result<(), Fault> {
    loop {
        let (length, result) = burst(input.buffered(), machine);
        input.advance(length)?;
        *opcode = input.offset();
        result?;
        let window = match input.window() {
            Some(window) => window,
            None => {
                let window = input.refilled_window()?;
                on_chunk(machine, input.read_bytes())?;
                if input.is_exhausted() {
                    return Err(ErrorKind::Truncated("there is no STOP opcode").into());
                }
                window
            }
        };
        if window[0] == b'.' {
            input.advance(1)?;
            return Ok(());
        }
        step(&window, input, machine)?;
    }
}

/// Runs the opcodes that a genuine snapshot is made of, as long as each of them lies wholly within
/// `bytes`: nothing is asked of the input meanwhile. The number of bytes done, and what stopped it
/// other than their end or an opcode left to [`step`].
#[inline(never)]
#[expect(clippy::too_many_lines, reason = "one match over the opcodes")]
fn burst(bytes: &[u8], machine: &mut Machine) -> (usize, Result<(), Fault>) {
    let mut rest = bytes;
    while let Some(window) = rest.first_chunk::<WINDOW>() {
        let mut length = 1;
        let result = match window[0] {
            b'h' | b'j' => {
                let (done, result) = gets(rest, machine);
                if result.is_err() {
                    return (bytes.len() - rest.len() + done, result);
                }
                length = done;
                result
            }
            0x94 => machine.memoize(),
            b'K' => {
                length = 2;
                machine.push(Value::Int(i64::from(window[1])));
                Ok(())
            }
            b'M' => {
                length = 3;
                machine.push(Value::Int(i64::from(u16::from_le_bytes([
                    window[1], window[2],
                ]))));
                Ok(())
            }
            b'J' => {
                length = 5;
                machine.push(Value::Int(i64::from(u32_at(window) as i32)));
                Ok(())
            }
            0x8a if window[1] <= 8 => {
                length = 2 + usize::from(window[1]);
                machine.push(Value::Int(short_integer(u64_at(window, 2), length - 2)));
                Ok(())
            }
            0x8c => match rest.get(2..2 + usize::from(window[1])) {
                Some(text) => {
                    length = 2 + text.len();
                    machine.push_text(text)
                }
                None => break,
            },
            b'(' => machine.mark(),
            b'u' => machine.set_items(),
            b'}' => {
                let dict = machine.new_dict();
                machine.push(dict);
                Ok(())
            }
            b'e' => machine.appends(),
            b']' => {
                let list = machine.new_list();
                machine.push(list);
                Ok(())
            }
            0x86 => machine.tuple(2),
            _ => break,
        };
        if result.is_err() {
            return (bytes.len() - rest.len(), result);
        }
        rest = rest.get(length..).unwrap_or(&[]);
    }
    (bytes.len() - rest.len(), Ok(()))
}

/// Runs the BINGETs and LONG_BINGETs with which `bytes` begins: two of three opcodes, as a stack is
/// written as one for each frame.
#[inline]
fn gets(bytes: &[u8], machine: &mut Machine) -> (usize, Result<(), Fault>) {
    let mut rest = bytes;
    while let Some(window) = rest.first_chunk::<WINDOW>() {
        let (index, length) = match window[0] {
            b'h' => (u32::from(window[1]), 2),
            b'j' => (u32_at(window), 5),
            _ => break,
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
        b'h' => {
            input.advance(2)?;
            machine.get(u64::from(window[1]))
        }
        b'j' => {
            input.advance(5)?;
            machine.get(u64::from(u32_at(window)))
        }
        b'K' => {
            input.advance(2)?;
            machine.push(Value::Int(i64::from(window[1])));
            Ok(())
        }
        b'M' => {
            input.advance(3)?;
            machine.push(Value::Int(i64::from(u16::from_le_bytes([
                window[1], window[2],
            ]))));
            Ok(())
        }
        b'J' => {
            input.advance(5)?;
            machine.push(Value::Int(i64::from(u32_at(window) as i32)));
            Ok(())
        }
        0x8c => {
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
        0x80 => 2,
        0x95 | 0x8d | 0x8e | 0x96 | b'G' => 9,
        b'X' | b'B' | b'T' | b'r' | 0x8b => 5,
        0x8a | b'q' | b'U' | b'C' => 2,
        _ => 1,
    };
    input.advance(size)?;
    let length = u64_at(window, 1);
    match opcode {
        0x80 => protocol(window[1], machine),
        // Frames only help whoever reads from a socket; their length is not to be trusted.
        0x95 => Ok(()),
        b'X' | b'B' | b'T' => push_text(u32_at(window) as usize, input, machine),
        0x8d | 0x8e | 0x96 => push_text(
            usize::try_from(length).unwrap_or(usize::MAX),
            input,
            machine,
        ),
        b'U' | b'C' => push_text(window[1] as usize, input, machine),
        0x8a => push_long(window[1] as usize, input, machine),
        0x8b => push_long(u32_at(window) as usize, input, machine),
        b'G' => {
            machine.push(Value::Float(f64::from_bits(length.swap_bytes())));
            Ok(())
        }
        b'q' => put(u64::from(window[1]), input, machine),
        b'r' => put(u64::from(u32_at(window)), input, machine),
        _ => bare(opcode, input, machine),
    }
}

/// Opcodes without an argument, and protocol 0.
fn bare(opcode: u8, input: &mut Input<'_>, machine: &mut Machine) -> Result<(), Fault> {
    match opcode {
        0x94 => machine.memoize()?,
        b'(' => machine.mark()?,
        b'u' => machine.set_items()?,
        b'e' => machine.appends()?,
        b'}' => {
            let dict = machine.new_dict();
            machine.push(dict);
        }
        b']' => {
            let list = machine.new_list();
            machine.push(list);
        }
        0x86 => machine.tuple(2)?,
        b'N' => machine.push(Value::None),
        0x88 => machine.push(Value::Bool(true)),
        0x89 => machine.push(Value::Bool(false)),
        b'a' => machine.append()?,
        b's' => machine.set_item()?,
        b'l' | b't' => machine.list_from_mark()?,
        b'd' => machine.dict_from_mark()?,
        b')' => machine.tuple(0)?,
        0x85 => machine.tuple(1)?,
        0x87 => machine.tuple(3)?,
        b'0' => {
            // POP on a mark drops the mark.
            if machine.pop().is_err() {
                machine.pop_mark()?;
            }
        }
        b'1' => machine.pop_mark()?,
        b'2' => {
            machine.duplicate()?;
        }
        b'I' | b'L' | b'F' | b'S' | b'V' | b'p' | b'g' => return line(opcode, input, machine),
        _ => return Err(refused(opcode).into()),
    }
    Ok(())
}

/// Opcodes of protocol 0, whose argument is the rest of the line.
fn line(opcode: u8, input: &mut Input<'_>, machine: &mut Machine) -> Result<(), Fault> {
    if matches!(opcode, b'S' | b'V') {
        let limit = machine.limits.string_bytes;
        let line = input.take_line(limit)?;
        let text = if opcode == b'V' {
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
        b'I' if text == "00" => machine.push(Value::Bool(false)),
        b'I' if text == "01" => machine.push(Value::Bool(true)),
        b'I' | b'L' => machine.push(decimal(text.trim_end_matches('L'))?),
        b'F' => {
            let float = text
                .parse()
                .ok()
                .ok_or_else(|| malformed(format!("`{text}` is no number")))?;
            machine.push(Value::Float(float));
        }
        _ => {
            let index = text
                .parse()
                .ok()
                .ok_or_else(|| malformed(format!("`{text}` is no memo number")))?;
            if opcode == b'g' {
                return machine.get(index);
            }
            return put(index, input, machine);
        }
    }
    Ok(())
}

fn put(index: u64, input: &Input<'_>, machine: &mut Machine) -> Result<(), Fault> {
    machine.decoded_bytes = input.read_bytes();
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

fn u32_at(window: &[u8; WINDOW]) -> u32 {
    u32::from_le_bytes([window[1], window[2], window[3], window[4]])
}

fn u64_at(window: &[u8; WINDOW], start: usize) -> u64 {
    let bytes = window
        .get(start..start + 8)
        .and_then(|bytes| bytes.first_chunk());
    bytes.map_or(0, |bytes| u64::from_le_bytes(*bytes))
}

/// Two's complement of `length` ≤ 8 bytes.
fn short_integer(bytes: u64, length: usize) -> i64 {
    if length == 0 {
        return 0;
    }
    let unused_bits = 64 - 8 * length as u32;
    ((bytes << unused_bits) as i64) >> unused_bits
}

/// Two's complement of any length. Beyond 64 bits only its magnitude is kept: no field of a snapshot
/// is so large.
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
    text.parse()
        .map(Value::Float)
        .ok()
        .ok_or_else(|| malformed(format!("`{text}` is no number")))
}

/// Python's raw-unicode-escape: `\uXXXX` and `\UXXXXXXXX`, everything else as Latin-1.
fn unescape_unicode(line: &[u8]) -> Vec<u8> {
    let mut text = String::new();
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
                text.push(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER));
                rest = tail.get(1 + digits..).unwrap_or(&[]);
            }
            None => {
                text.push(char::from(*first));
                rest = tail;
            }
        }
    }
    text.into_bytes()
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
                text.push(code.unwrap_or(b'?'));
            }
            Some(other) => text.push(other),
            None => {}
        }
    }
    Ok(text)
}

/// Why a byte is not run.
fn refused(opcode: u8) -> ErrorKind {
    let name = match opcode {
        b'c' => "GLOBAL",
        0x93 => "STACK_GLOBAL",
        b'i' => "INST",
        b'o' => "OBJ",
        0x81 => "NEWOBJ",
        0x92 => "NEWOBJ_EX",
        b'R' => "REDUCE",
        b'b' => "BUILD",
        0x82 => "EXT1",
        0x83 => "EXT2",
        0x84 => "EXT4",
        b'P' => "PERSID",
        b'Q' => "BINPERSID",
        0x97 => "NEXT_BUFFER",
        0x98 => "READONLY_BUFFER",
        0x8f => "EMPTY_SET",
        0x90 => "ADDITEMS",
        0x91 => "FROZENSET",
        _ => return ErrorKind::UnknownOpcode(opcode),
    };
    ErrorKind::ForbiddenOpcode { name, code: opcode }
}
