//! Sizes and ranges as they are written on the command line.

/// Width and height in pixels.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Size {
    pub(super) width_px: u32,
    pub(super) height_px: u32,
}

/// A stretch of the x axis; `None` = open.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Range {
    pub(super) from: Option<f64>,
    pub(super) to: Option<f64>,
}

/// `1600x900`.
pub(super) fn parse_size(text: &str) -> Result<Size, String> {
    let sides = text.split_once(['x', 'X', '×']);
    let side = |text: &str| text.trim().parse::<u32>().ok();
    sides
        .and_then(|(width, height)| {
            Some(Size {
                width_px: side(width)?,
                height_px: side(height)?,
            })
        })
        .ok_or_else(|| "expected WIDTHxHEIGHT in pixels, e.g. 1600x900".to_owned())
}

/// `1000..2000`, `0.5..`, `..12000`.
pub(super) fn parse_range(text: &str) -> Result<Range, String> {
    let expected = || "expected FROM..TO, e.g. 1000..2000, 0.5..0.75 or 1000..".to_owned();
    let (from, to) = text.split_once("..").ok_or_else(expected)?;
    let end = |text: &str| match text.trim() {
        "" => Ok(None),
        // Thousands separators, as the page and `info` print them.
        number => match number.replace([',', '_'], "").parse::<f64>() {
            Ok(number) if number.is_finite() && number >= 0.0 => Ok(Some(number)),
            _ => Err(expected()),
        },
    };
    let range = Range {
        from: end(from)?,
        to: end(to)?,
    };
    match (range.from, range.to) {
        (Some(from), Some(to)) if from >= to => {
            Err("the range is empty: FROM must lie before TO".to_owned())
        }
        _ => Ok(range),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes() {
        assert_eq!(
            parse_size("1600x900"),
            Ok(Size {
                width_px: 1600,
                height_px: 900
            })
        );
        for wrong in ["", "1600", "x", "1600x-1", "axb", "99999999999x1"] {
            assert!(parse_size(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn ranges() {
        let range = |from, to| Ok(Range { from, to });
        assert_eq!(
            parse_range("1,000..2_000"),
            range(Some(1000.0), Some(2000.0))
        );
        assert_eq!(parse_range("0.5.."), range(Some(0.5), None));
        assert_eq!(parse_range("..7"), range(None, Some(7.0)));
        for wrong in ["", "5", "2..1", "1..1", "-1..2", "a..b", "nan..1", "1..inf"] {
            assert!(parse_range(wrong).is_err(), "{wrong}");
        }
    }
}
