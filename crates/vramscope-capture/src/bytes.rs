//! Bytes as people write and read them.

/// Bytes of a text such as `512MiB`, `2g`, `1.5 GB` or `4096`; units are powers of 1024, as everywhere with GPU memory.
///
/// # Errors
/// For anything else.
pub(crate) fn parse(text: &str) -> Result<u64, String> {
    let text = text.trim();
    let split = text.find(|character: char| character.is_ascii_alphabetic());
    let (number, unit) = text.split_at(split.unwrap_or(text.len()));
    let unit = unit.to_ascii_lowercase();
    let shift = match unit.trim_end_matches('b').trim_end_matches('i') {
        "" => 0,
        "k" => 10,
        "m" => 20,
        "g" => 30,
        "t" => 40,
        _ => return Err("a number and KiB, MiB, GiB or TiB, such as 512MiB".to_owned()),
    };
    let number: f64 = number
        .trim()
        .parse()
        .map_err(|error| format!("{error}; such as 512MiB"))?;
    let bytes = number * (1_u64 << shift) as f64;
    if (0.0..=(1_u64 << 62) as f64).contains(&bytes) {
        Ok(bytes as u64)
    } else {
        Err("so many bytes are not possible".to_owned())
    }
}

/// `bytes` with three digits and a unit.
pub(crate) fn show(bytes: u64) -> String {
    let units = ["bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    let unit = (bytes.max(1).ilog2() / 10) as usize;
    let value = bytes as f64 / (1_u64 << (10 * unit)) as f64;
    let digits = match value {
        _ if unit == 0 => 0,
        ..10.0 => 2,
        ..100.0 => 1,
        _ => 0,
    };
    format!("{value:.digits$} {}", units.get(unit).unwrap_or(&""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_powers_of_1024() {
        for (text, bytes) in [
            ("4096", 4096),
            ("1k", 1024),
            ("512MiB", 512 << 20),
            ("1.5 GB", 3 << 29),
            ("2g", 2 << 30),
            ("7b", 7),
        ] {
            assert_eq!(parse(text), Ok(bytes), "{text}");
        }
        for text in ["", "MiB", "-1", "1X", "1e30G", "NaN"] {
            assert!(parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn bytes_are_shown_with_three_digits() {
        for (bytes, text) in [
            (0, "0 bytes"),
            (1023, "1023 bytes"),
            (1536, "1.50 KiB"),
            (300 << 20, "300 MiB"),
            (70 << 30, "70.0 GiB"),
            (u64::MAX, "16.0 EiB"),
        ] {
            assert_eq!(show(bytes), text);
        }
    }
}
