//! Numbers and texts as CPython encodes them.

/// The bytes of the shortest two's complement form.
pub(super) fn minimal_length(value: i128) -> usize {
    let magnitude = if value < 0 { !value } else { value };
    let bits = 128 - magnitude.leading_zeros() as usize;
    bits / 8 + 1
}

/// CPython interns the empty string and all Latin-1 one-character strings.
#[inline]
pub(super) fn is_interned_by_python(text: &str) -> bool {
    if text.len() > 2 {
        return false;
    }
    let mut chars = text.chars();
    match (chars.next(), chars.next()) {
        (None, _) => true,
        (Some(only), None) => u32::from(only) < 256,
        _ => false,
    }
}

/// The `raw-unicode-escape` codec with the further escapes protocol 0 needs.
pub(super) fn raw_unicode_escape(text: &str) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    for c in text.chars() {
        match u32::from(c) {
            code @ (0 | 0x0a | 0x0d | 0x1a | 0x5c) => out.extend(format!("\\u{code:04x}").bytes()),
            code @ 0..=0xff => out.push(code as u8),
            code @ 0x100..=0xffff => out.extend(format!("\\u{code:04x}").bytes()),
            code => out.extend(format!("\\U{code:08x}").bytes()),
        }
    }
    out
}

/// A float as Python's `repr` prints it: Rust's digits, but an exponent of two digits and a sign.
pub(super) fn python_repr(value: f64) -> String {
    if value.is_nan() {
        return "nan".to_owned();
    }
    if value.is_infinite() {
        return if value > 0.0 { "inf" } else { "-inf" }.to_owned();
    }
    let text = format!("{value:?}");
    match text.split_once('e') {
        None => text,
        Some((digits, exponent)) => {
            let power: i32 = exponent.parse().unwrap_or(0);
            let sign = if power < 0 { '-' } else { '+' };
            format!("{digits}e{sign}{:02}", power.abs())
        }
    }
}
