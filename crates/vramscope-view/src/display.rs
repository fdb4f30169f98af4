//! Numbers as text: the same on the page, in the command line's output and in pictures.
//!
//! Sizes have binary units and three significant digits. They are rounded down, so that nothing
//! looks larger than it is. Counts have thousands separators. Times are offsets from the first
//! event, or UTC, because files do not record a time zone.

use vramscope_core::units::{Bytes, Count, Percent};

const SECOND_US: u64 = 1_000_000;

/// `31.2 GiB`.
#[must_use]
pub fn bytes(bytes: u64) -> String {
    Bytes(bytes).to_string()
}

/// `31.2 GiB (33,521,409,536 bytes)`; `512 B` below 1 KiB.
#[must_use]
pub fn bytes_exact(bytes: u64) -> String {
    if bytes < 1024 {
        return Bytes(bytes).to_string();
    }
    format!("{} ({} bytes)", Bytes(bytes), Count(bytes))
}

/// `+2.50 MiB`, `−512 B`, `0 B`.
#[must_use]
pub fn bytes_change(before: u64, after: u64) -> String {
    match after.abs_diff(before) {
        0 => Bytes(0).to_string(),
        more if after > before => format!("+{}", Bytes(more)),
        less => format!("\u{2212}{}", Bytes(less)),
    }
}

/// `+1,234`, `−5`, `0`.
#[must_use]
pub fn count_change(before: u64, after: u64) -> String {
    match after.abs_diff(before) {
        0 => Count(0).to_string(),
        more if after > before => format!("+{}", Count(more)),
        less => format!("\u{2212}{}", Count(less)),
    }
}

/// `1,234,567`.
#[must_use]
pub fn count(count: u64) -> String {
    Count(count).to_string()
}

/// A part of a whole: `12.3 %`.
#[must_use]
pub fn percent(part: u64, whole: u64) -> String {
    Percent { part, whole }.to_string()
}

/// An event by its number, from 1: `event 12,345`.
#[must_use]
pub fn event(number: u64) -> String {
    format!("event {}", Count(number))
}

/// `0x7f5a00000000`.
#[must_use]
pub fn address(address: u64) -> String {
    format!("{address:#x}")
}

/// An allocation's name, from its address and how often the address was used before:
/// `b7f5a00000000_3`, as in PyTorch's viewer.
#[must_use]
pub fn allocation_id(address: u64, version: u32) -> String {
    format!("b{address:x}_{version}")
}

/// A duration: `12 µs`, `1.25 ms`, `3.40 s`, `2 min 5 s`, `1 h 3 min`.
#[must_use]
pub fn duration(us: i64) -> String {
    let sign = if us < 0 { "\u{2212}" } else { "" };
    let us = us.unsigned_abs();
    let text = match us {
        0..1_000 => format!("{us} µs"),
        1_000..SECOND_US => format!("{} ms", three_digits(us, 1_000)),
        SECOND_US..60_000_000 => format!("{} s", three_digits(us, SECOND_US)),
        60_000_000..3_600_000_000 => {
            format!("{} min {} s", us / (60 * SECOND_US), us / SECOND_US % 60)
        }
        _ => format!(
            "{} h {} min",
            us / (3600 * SECOND_US),
            us / (60 * SECOND_US) % 60
        ),
    };
    format!("{sign}{text}")
}

/// `us / unit` with three significant digits, rounded down.
fn three_digits(us: u64, unit: u64) -> String {
    let (whole, hundredths) = (us / unit, us % unit * 100 / unit);
    match whole {
        0..10 => format!("{whole}.{hundredths:02}"),
        10..100 => format!("{whole}.{}", hundredths / 10),
        _ => whole.to_string(),
    }
}

/// Time since the first event, exact to the µs: `+12.345678 s`, `+2:05.000001`, `+1:02:03.000004`.
#[must_use]
pub fn offset(us: i64) -> String {
    let sign = if us < 0 { '\u{2212}' } else { '+' };
    let us = us.unsigned_abs();
    let (seconds, fraction) = (us / SECOND_US, us % SECOND_US);
    match (seconds / 3600, seconds / 60 % 60, seconds % 60) {
        (0, 0, s) => format!("{sign}{s}.{fraction:06} s"),
        (0, m, s) => format!("{sign}{m}:{s:02}.{fraction:06}"),
        (h, m, s) => format!("{sign}{h}:{m:02}:{s:02}.{fraction:06}"),
    }
}

/// The time of day in UTC, from µs since the Unix epoch: `14:03:22.123456`.
#[must_use]
pub fn time_of_day(epoch_us: i64) -> String {
    let us = epoch_us.rem_euclid(86_400 * SECOND_US as i64) as u64;
    let (seconds, fraction) = (us / SECOND_US, us % SECOND_US);
    format!(
        "{:02}:{:02}:{:02}.{fraction:06}",
        seconds / 3600,
        seconds / 60 % 60,
        seconds % 60
    )
}

/// Date and time in UTC, from µs since the Unix epoch: `2026-03-01 14:03:22.123456`.
#[must_use]
pub fn date_time(epoch_us: i64) -> String {
    let (year, month, day) = civil_date(epoch_us.div_euclid(86_400 * SECOND_US as i64));
    format!("{year:04}-{month:02}-{day:02} {}", time_of_day(epoch_us))
}

/// Year, month and day of a day counted from 1970-01-01, in the proleptic Gregorian calendar.
///
/// This is Howard Hinnant's `civil_from_days`. Years start in March, so that the leap day is the
/// last day of a year and a linear formula gives the lengths of months.
fn civil_date(days_since_epoch: i64) -> (i64, u32, u32) {
    const DAYS_PER_ERA: i64 = 146_097; // 400 years
    let days = days_since_epoch + 719_468; // since 0000-03-01
    let era = days.div_euclid(DAYS_PER_ERA);
    let day_of_era = days.rem_euclid(DAYS_PER_ERA);
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 {
        month_from_march + 3
    } else {
        month_from_march - 9
    };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    (year, month as u32, day as u32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn sizes() {
        assert_eq!(
            bytes_exact(33_554_432_000),
            "31.3 GiB (33,554,432,000 bytes)"
        );
        assert_eq!(bytes_exact(512), "512 B");
        assert_eq!(bytes_change(0, 2_621_440), "+2.50 MiB");
        assert_eq!(bytes_change(1_024, 512), "\u{2212}512 B");
        assert_eq!(bytes_change(7, 7), "0 B");
        assert_eq!(count_change(7, 1_007), "+1,000");
        assert_eq!(
            (count_change(7, 5), count_change(7, 7)),
            ("\u{2212}2".to_owned(), "0".to_owned())
        );
    }

    #[test]
    fn lengths_of_time() {
        for (us, text) in [
            (0, "0 µs"),
            (999, "999 µs"),
            (1_250, "1.25 ms"),
            (999_999, "999 ms"),
            (3_400_000, "3.40 s"),
            (59_999_999, "59.9 s"),
            (125_000_000, "2 min 5 s"),
            (3_780_000_000, "1 h 3 min"),
            (-1_250, "\u{2212}1.25 ms"),
        ] {
            assert_eq!(duration(us), text);
        }
        assert!(duration(i64::MIN).ends_with("min"));
    }

    #[test]
    fn offsets() {
        for (us, text) in [
            (0, "+0.000000 s"),
            (12_345_678, "+12.345678 s"),
            (125_000_001, "+2:05.000001"),
            (3_723_000_004, "+1:02:03.000004"),
            (-5, "\u{2212}0.000005 s"),
        ] {
            assert_eq!(offset(us), text);
        }
    }

    #[test]
    fn dates() {
        for (us, text) in [
            (0, "1970-01-01 00:00:00.000000"),
            (-1, "1969-12-31 23:59:59.999999"),
            (951_782_400_000_000, "2000-02-29 00:00:00.000000"),
            (1_709_251_199_123_456, "2024-02-29 23:59:59.123456"),
            (1_700_000_000_000_000, "2023-11-14 22:13:20.000000"),
        ] {
            assert_eq!(date_time(us), text);
        }
    }

    #[test]
    fn names() {
        assert_eq!(allocation_id(0x7f5a_0000_0000, 3), "b7f5a00000000_3");
        assert_eq!(address(0x7f5a_0000_0000), "0x7f5a00000000");
        assert_eq!(event(12_345), "event 12,345");
    }

    proptest! {
        #[test]
        fn no_time_panics_and_days_follow_each_other(us in any::<i64>()) {
            let (text, _) = (date_time(us), (duration(us), offset(us)));
            prop_assert!(text.len() >= 26);
            let day = us.div_euclid(86_400_000_000);
            let (year, month, date) = civil_date(day);
            let (next_year, next_month, next_date) = civil_date(day + 1);
            let same_month = (next_year, next_month, next_date) == (year, month, date + 1);
            let first_of_next = next_date == 1 && date >= 28
                && (next_month == month + 1 || (next_month == 1 && month == 12 && next_year == year + 1));
            prop_assert!(same_month || first_of_next);
        }
    }
}
