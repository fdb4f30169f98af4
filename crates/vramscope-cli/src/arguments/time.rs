//! Durations as arguments: `30`, `30s`, `1min 30s`.

use std::time::Duration;

use vramscope_core::analysis::search::filter::parse_decimal;

/// Parses a duration, for clap's `value_parser`; a plain number is seconds. The error has examples.
pub(crate) fn parse_time(text: &str) -> Result<Duration, String> {
    let seconds = parse_decimal(text).and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    let time = seconds.map_or_else(|| humantime::parse_duration(text).map_err(drop), Ok);
    time.map_err(|()| "write 30s, 1min 30s, or a number of seconds".to_owned())
}
