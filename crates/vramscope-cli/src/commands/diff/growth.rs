//! `--fail-if-grown`: the limit on growth.

use vramscope_core::analysis::compare::changes::{SiteChange, relative_change};
use vramscope_core::analysis::search::filter::{parse_bytes, parse_decimal};
use vramscope_core::units::Bytes;

use super::sides::Pair;
use crate::failure::Failure;

/// Number of groups named in the message.
const GROUPS: usize = 3;

/// The growth that is still allowed.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Growth {
    /// A share of the earlier sum: 0.05 for 5 %.
    Share(f64),
    Bytes(u64),
}

/// Parses a percentage or a size, for clap's `value_parser`.
pub(crate) fn parse_growth(text: &str) -> Result<Growth, String> {
    let wrong = || "write a percentage or a size: 5%, 100MiB".to_owned();
    let text = text.trim();
    if let Some(percent) = text.strip_suffix('%') {
        let share = parse_decimal(percent).map(|percent| Growth::Share(percent / 100.0));
        return share.ok_or_else(wrong);
    }
    // A bare 5 could mean either.
    if text.ends_with(|last: char| last.is_ascii_digit()) && text != "0" {
        return Err(wrong());
    }
    parse_bytes(text)
        .map(Growth::Bytes)
        .map_err(|instead| format!("write a percentage such as 5%, or {instead}"))
}

impl Growth {
    /// The failure, if the pair breaks the limit.
    pub(super) fn broken(self, pair: &Pair, changes: &[SiteChange]) -> Option<Failure> {
        let [before, after] = [&pair.before, &pair.after].map(|side| side.figures.active_bytes);
        let is_broken = match (self, relative_change(before, after)) {
            (Self::Bytes(bytes), _) => after.saturating_sub(before) > bytes,
            (Self::Share(limit), Some(share)) => share > limit,
            // From 0 bytes any growth is infinite.
            (Self::Share(_), None) => after > 0,
        };
        is_broken.then(|| self.failure(pair, changes))
    }

    fn failure(self, pair: &Pair, changes: &[SiteChange]) -> Failure {
        let [before, after] = [&pair.before, &pair.after].map(|side| side.figures.active_bytes);
        let allowed = match self {
            Self::Share(share) => format!("{} %", share * 100.0),
            Self::Bytes(bytes) => Bytes(bytes).to_string(),
        };
        let part = relative_change(before, after)
            .map_or(String::new(), |share| format!(" ({:.1} %)", share * 100.0));
        let text = format!(
            "{}, device {}: grew by {}{part} from {} to {}, allowed is {allowed}",
            pair.after.file,
            pair.after.device,
            Bytes(after - before),
            Bytes(before),
            Bytes(after)
        );
        let grown = changes.iter().filter(|site| site.change.bytes_delta() > 0);
        let lines = grown.take(GROUPS).map(|site| {
            let by = Bytes(site.change.bytes_delta().unsigned_abs());
            format!("+{by}  {}", site.label)
        });
        Failure::Broken(text).followed_by(lines)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentages_and_sizes() {
        assert_eq!(parse_growth("5%"), Ok(Growth::Share(0.05)));
        assert_eq!(parse_growth("0.5 %"), Ok(Growth::Share(0.005)));
        assert_eq!(parse_growth("100MiB"), Ok(Growth::Bytes(100 << 20)));
        assert_eq!(parse_growth("0"), Ok(Growth::Bytes(0)));
        for wrong in [
            "5", "-5%", "NaN%", "inf%", "%", "5.%", "1,5%", "5%%", "", "much", "1,5MiB",
        ] {
            assert!(parse_growth(wrong).is_err(), "{wrong}");
        }
    }
}
