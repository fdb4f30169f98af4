//! From a row of the legend to the search for what it counts.

use crate::protocol::ColourBy;

/// The search that finds the allocations of a legend's row; `None` where the search has no words for it.
#[must_use]
pub fn search(colour_by: ColourBy, label: &str) -> Option<String> {
    let size = |text: &str| text.replace(' ', "");
    match colour_by {
        ColourBy::CallSite => Some(format!("site={}", quoted(label))),
        ColourBy::Category => Some(format!("category:{}", quoted(label))),
        ColourBy::Size => {
            if let Some(least) = label.strip_suffix(" and more") {
                return Some(format!("size>={}", size(least)));
            }
            if let Some(most) = label.strip_prefix("below ") {
                return Some(format!("size<{}", size(most)));
            }
            let (from, to) = label.split_once(" to ")?;
            Some(format!("size>={} size<{}", size(from), size(to)))
        }
        ColourBy::Stream => match label.strip_prefix("stream ") {
            Some(rest) => Some(format!("stream:{}", rest.split(' ').next()?)),
            None => (label == "default stream").then(|| "stream:0".to_owned()),
        },
        ColourBy::Pool => match (label, label.rsplit_once('(')) {
            ("default pool", _) => Some("pool:default".to_owned()),
            (_, Some((_, id))) => Some(format!("pool:{}", size(id.trim_end_matches(')')))),
            _ => None,
        },
        ColourBy::Age => {
            if label == "before recording" {
                return Some("before".to_owned());
            }
            let (from, to) = label.strip_prefix("events ")?.split_once(" to ")?;
            // The legend counts events from 0, the moment that begins with one is the next number.
            let moment = |text: &str| text.replace(',', "").parse::<u64>().ok()?.checked_add(1);
            Some(format!("born>={} born<={}", moment(from)?, moment(to)?))
        }
    }
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

#[cfg(test)]
mod tests {
    use super::*;
    use vramscope_core::analysis::filter::Filter;

    #[test]
    fn every_row_finds_its_allocations() {
        for (colour_by, label, expected) in [
            (
                ColourBy::CallSite,
                "model.py:18 __init__",
                "site=\"model.py:18 __init__\"",
            ),
            (
                ColourBy::Category,
                "optimizer_state",
                "category:\"optimizer_state\"",
            ),
            (ColourBy::Size, "1.00 GiB and more", "size>=1.00GiB"),
            (
                ColourBy::Size,
                "64.0 MiB to 256 MiB",
                "size>=64.0MiB size<256MiB",
            ),
            (ColourBy::Size, "below 64.0 KiB", "size<64.0KiB"),
            (ColourBy::Stream, "default stream", "stream:0"),
            (ColourBy::Stream, "stream 3 (0x7f)", "stream:3"),
            (ColourBy::Pool, "default pool", "pool:default"),
            (ColourBy::Pool, "private pool (0, 3)", "pool:0,3"),
            (ColourBy::Age, "before recording", "before"),
            (
                ColourBy::Age,
                "events 1,200 to 2,399",
                "born>=1201 born<=2400",
            ),
        ] {
            let text = search(colour_by, label).unwrap();
            assert_eq!(text, expected);
            assert!(
                Filter::parse(&text).is_ok(),
                "{text}: {:?}",
                Filter::parse(&text)
            );
        }
        assert_eq!(search(ColourBy::Stream, "unknown"), None);
    }
}
