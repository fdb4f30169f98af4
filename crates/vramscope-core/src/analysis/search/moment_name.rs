//! The syntax in which users name a moment, or a range of moments.
//!
//! ```text
//! moment := peak | start | end                         highest active memory; before, after all events
//!         | oom | oom[2]                               first, second failed request
//!         | 1234                                       after 1234 events
//!         | 2.5s | 350ms                               this time after the first event
//!         | NAME                                       end of the first annotated range of this name
//!         | NAME[3]                                    end of the third; NAME[-1]: end of the last
//!         | NAME:start | NAME:end | NAME:peak          first, last, highest moment of the range
//! range  := moment .. moment                           defaults: from the start, to the end
//!         | NAME | NAME[3]                             an annotated range
//!         | all
//! ```
//! At the left end of a range, `NAME` means its start. `*` in a name matches any text. Characters around a name's
//! letters, as in `## forward ##`, may be left out if no name matches as written. A name in quotes is taken literally.
//! Case is ignored.

use std::fmt;

use super::filter::{Pattern, When, parse_when};
use crate::analysis::recording::Device;
use crate::analysis::time::lanes::{LaneKind, LaneRange};
use crate::analysis::time::selection::Moments;
use crate::sorting::SortFew;

/// The reason why a text could not be resolved to a moment or a range.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MomentError {
    message: String,
    is_usage: bool,
}

impl MomentError {
    fn usage(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            is_usage: true,
        }
    }

    fn missing(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            is_usage: false,
        }
    }

    /// Whether the text is invalid in every file. Otherwise it is valid, but this recording has no such moment.
    #[must_use]
    pub fn is_usage(&self) -> bool {
        self.is_usage
    }
}

impl fmt::Display for MomentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for MomentError {}

/// Resolves the name of a moment.
///
/// # Errors
/// If the text is not a valid name, or the recording has no such moment.
pub fn moment(text: &str, device: Device<'_>) -> Result<u32, MomentError> {
    moment_as(text, device, Edge::End)
}

/// Resolves the name of a range to its first and last moment, both included.
///
/// # Errors
/// If the text is not a valid range, the recording has no such range, or the range ends before it begins.
pub fn range(text: &str, device: Device<'_>) -> Result<Moments, MomentError> {
    let text = text.trim();
    let last = device.history.event_count;
    if text.eq_ignore_ascii_case("all") {
        return Ok((0, last));
    }
    let Some((from, to)) = split_range(text) else {
        let name = Named::parse(text)?;
        let is_moment = parse_when(text).is_ok() || name.is_oom();
        if name.edge.is_some() || is_moment {
            return Err(MomentError::usage(format!(
                "{text} is a moment; write a range as A..B"
            )));
        }
        return name.range(device).map(|range| range.moments());
    };
    let from = match from.trim() {
        "" => 0,
        from => moment_as(from, device, Edge::Start)?,
    };
    let to = match to.trim() {
        "" => last,
        to => moment_as(to, device, Edge::End)?,
    };
    if from > to {
        let text = format!(
            "{text} runs backwards: it begins after event {from} and ends after event {to}"
        );
        return Err(MomentError::missing(text));
    }
    Ok((from, to))
}

/// The texts on both sides of the first `..` outside quotes; `None` without one.
fn split_range(text: &str) -> Option<(&str, &str)> {
    let is_outside = |at: usize| text[..at].matches('"').count().is_multiple_of(2);
    let (at, dots) = text.match_indices("..").find(|&(at, _)| is_outside(at))?;
    Some((&text[..at], &text[at + dots.len()..]))
}

/// All annotated ranges whose name matches, sorted by start.
///
/// # Errors
/// If no range matches, or if the text names a single range (`NAME[3]`) or a moment (`NAME:end`).
pub fn ranges(text: &str, device: Device<'_>) -> Result<Vec<LaneRange>, MomentError> {
    let name = Named::parse(text.trim())?;
    if name.edge.is_some() || name.place.is_some() {
        return Err(MomentError::usage(format!(
            "{text} is one of several: write the name alone, `*` in it for anything"
        )));
    }
    name.ranges(device)
}

/// A moment of an annotated range.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Edge {
    Start,
    End,
    Peak,
}

/// Resolves a moment. A range's name without `:start`, `:end` or `:peak` means `edge`.
fn moment_as(text: &str, device: Device<'_>, edge: Edge) -> Result<u32, MomentError> {
    let text = text.trim();
    let last = device.history.event_count;
    match parse_when(text) {
        Ok(When::Peak) => return Ok(device.history.peak_moment),
        Ok(When::Start) => return Ok(0),
        Ok(When::End) => return Ok(last),
        Ok(When::Event(number)) => {
            return u32::try_from(number)
                .ok()
                .filter(|&moment| moment <= last)
                .ok_or_else(|| {
                    MomentError::missing(format!(
                        "there is no event {number}: the recording has {last}"
                    ))
                });
        }
        Ok(When::Us(us)) => return at_time(us, device),
        Ok(When::Cursor) | Err(_) => {}
    }
    let name = Named::parse(text)?;
    if name.is_oom() && name.edge.is_none() {
        let moments = device.oom_moments();
        return name.pick(moments).copied().ok_or_else(|| {
            MomentError::missing(match moments.len() {
                0 => "no request failed in this recording".to_owned(),
                1 => format!("one request failed, there is no {text}"),
                number => format!("{number} requests failed, there is no {text}"),
            })
        });
    }
    let range = name.range(device)?;
    Ok(match name.edge.unwrap_or(edge) {
        Edge::Start => range.from,
        Edge::End => range.to,
        Edge::Peak => {
            device
                .sums()
                .totals(device.history, range.moments())
                .peak_moment
        }
    })
}

/// The moment that is current `us` microseconds after the first event.
fn at_time(us: u64, device: Device<'_>) -> Result<u32, MomentError> {
    let times = &device.history.moment_start_us;
    let Some(start) = times.first() else {
        return Err(MomentError::missing(
            "the events have no times: name the moment by its event",
        ));
    };
    let offset = |time: i64| time.saturating_sub(start).max(0).cast_unsigned();
    // Times are shown with three digits, so one that was rounded up is the end.
    let length = times.last().map_or(0, offset);
    if us > length.saturating_add(length / 100) {
        return Err(MomentError::missing(format!(
            "the recording ends {length} µs after its first event"
        )));
    }
    let begun = times.partition_point(|time| offset(time) <= us);
    Ok(begun.saturating_sub(1) as u32)
}

/// A parsed name: `NAME`, `NAME[3]`, `NAME[3]:peak`.
struct Named<'a> {
    text: &'a str,
    is_literal: bool,
    /// The index among the ranges with this name, counted from 1. Negative numbers count from the end, -1 being the
    /// last.
    place: Option<i64>,
    edge: Option<Edge>,
}

impl<'a> Named<'a> {
    fn parse(text: &'a str) -> Result<Self, MomentError> {
        if text.is_empty() {
            return Err(MomentError::usage(
                "a moment is missing: write an event's number, a time such as 2.5s, peak, start, end, oom or an annotation's name",
            ));
        }
        let edges = [
            (":start", Edge::Start),
            (":end", Edge::End),
            (":peak", Edge::Peak),
        ];
        let found = edges.into_iter().find_map(|(word, edge)| {
            let cut = text.len().checked_sub(word.len())?;
            let is_it = text
                .get(cut..)
                .is_some_and(|end| end.eq_ignore_ascii_case(word));
            is_it.then(|| (&text[..cut], edge))
        });
        let (text, edge) = found.map_or((text, None), |(text, edge)| (text, Some(edge)));
        let numbered = text
            .strip_suffix(']')
            .and_then(|text| text.rsplit_once('['));
        let numbered = numbered.and_then(|(name, place)| Some((name, place.parse().ok()?)));
        let (text, place) = numbered.map_or((text, None), |(name, place)| (name, Some(place)));
        if place == Some(0) {
            return Err(MomentError::usage(format!(
                "{text}[0]: the first one is {text}[1], the last {text}[-1]"
            )));
        }
        let quoted = text
            .strip_prefix('"')
            .and_then(|text| text.strip_suffix('"'));
        Ok(Self {
            text: quoted.unwrap_or(text),
            is_literal: quoted.is_some(),
            place,
            edge,
        })
    }

    /// Whether this means failed requests. `"oom"` in quotes means annotations of that name.
    fn is_oom(&self) -> bool {
        !self.is_literal && self.text.eq_ignore_ascii_case("oom")
    }

    /// The item at `place`, by default the first; `None` if there are fewer.
    fn pick<'b, T>(&self, all: &'b [T]) -> Option<&'b T> {
        let place = match self.place.unwrap_or(1) {
            place @ 1.. => usize::try_from(place - 1).ok(),
            place => usize::try_from(place.unsigned_abs())
                .ok()
                .and_then(|back| all.len().checked_sub(back)),
        };
        all.get(place?)
    }

    fn range(&self, device: Device<'_>) -> Result<LaneRange, MomentError> {
        let ranges = self.ranges(device)?;
        self.pick(&ranges).copied().ok_or_else(|| {
            MomentError::missing(format!(
                "{} annotations are called {}, there is no number {}",
                ranges.len(),
                self.text,
                self.place.unwrap_or(1)
            ))
        })
    }

    /// All annotated ranges whose name matches, sorted by start, longer ones first; never empty. Decoration of a name,
    /// as in `## forward ##`, may be left out.
    fn ranges(&self, device: Device<'_>) -> Result<Vec<LaneRange>, MomentError> {
        let text = self.text;
        let pattern = Pattern {
            text: text.to_owned(),
            is_literal: self.is_literal,
            is_whole: true,
        };
        let mut ranges = ranges_named(&pattern, device, |name| name);
        if ranges.is_empty() && !self.is_literal && !text.is_empty() {
            ranges = ranges_named(&pattern, device, |name| {
                name.trim_matches(|c: char| !c.is_alphanumeric())
            });
        }
        ranges.sort_few_by_key(|range| (range.from, std::cmp::Reverse(range.to)));
        if ranges.is_empty() {
            return Err(MomentError::missing(match all(device).next() {
                None => format!("{text} is no moment, and this recording has no annotations"),
                Some(_) => {
                    format!("no annotation is called {text}; `vramscope annotations` lists them")
                }
            }));
        }
        Ok(ranges)
    }
}

/// The annotated ranges of all lanes.
fn all<'a>(device: Device<'a>) -> impl Iterator<Item = &'a LaneRange> {
    let kinds = LaneKind::ALL
        .into_iter()
        .flat_map(move |kind| device.lanes().of_kind(kind));
    kinds.flat_map(|lane| lane.rows.iter().flatten())
}

/// All annotated ranges in whose name this part matches, in the order of the lanes.
fn ranges_named(pattern: &Pattern, device: Device<'_>, part: fn(&str) -> &str) -> Vec<LaneRange> {
    let mut matcher = super::filter::Matcher::new(pattern);
    let mut known = std::collections::HashMap::new();
    let is_it = |range: &&LaneRange| {
        *known
            .entry(range.name)
            .or_insert_with(|| matcher.matches(part(range.name.text(&device.snapshot().strings))))
    };
    all(device).filter(is_it).copied().collect()
}

#[cfg(test)]
mod tests;
