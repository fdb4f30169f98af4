//! The decorations above and on top of a range of the x axis: lanes of named ranges, marks, reserved memory, private pools.
//!
//! They are computed for one viewport, and drawn in it or in a later one until its own arrive.
//! [`Header`](crate::header::Header) and [`Lines`](crate::lines::Lines) draw them.

use serde::{Deserialize, Serialize};
use vramscope_core::Snapshot;
use vramscope_core::analysis::memory::private_pools::PoolUse;
use vramscope_core::analysis::recording::Device;
use vramscope_core::analysis::time::byte_steps::most_bytes;
use vramscope_core::analysis::time::lanes::{Lane, LaneKind, LaneRange};
use vramscope_core::analysis::time::selection::Moments;

use crate::colour::Rgb;
use crate::lanes::{Item, LEAST_CSS, MOST_ROWS, visible};
use crate::marks::{CELL_CSS, Mark, marks};
use crate::raster::{Bands, TimelineIndex};
use crate::reserved::{Curve, Envelope, Steps, curve, envelopes};
use crate::viewport::Viewport;

/// Names of an item's ranges are compared only if it has at most this many ranges.
const COMPARED_NAMES: u32 = 4_096;
/// Longer names are cut, in characters.
const LONGEST_NAME: usize = 300;

/// The data of one device that decorations are computed from.
#[derive(Clone, Copy)]
pub struct Sources<'a> {
    /// The device.
    pub device: Device<'a>,
    /// The timeline, on the drawn axis.
    pub bands: &'a Bands<'a>,
    /// The timeline's index.
    pub index: &'a TimelineIndex,
    /// Reserved memory; empty if neither it nor [`DriverPools`] is drawn.
    pub reserved_steps: &'a Steps,
    /// Reserved memory in a replay with other settings; empty if none is drawn.
    pub replayed_steps: &'a Steps,
    /// The private pools to draw.
    pub pools: &'a [PoolUse],
}

impl Sources<'_> {
    /// The most reserved bytes that are drawn, including memory in no known segment; 0 if none are drawn.
    #[must_use]
    pub fn most_held_bytes(&self) -> u64 {
        match most_bytes(self.reserved_steps) {
            0 => 0,
            bytes => bytes.max(most_bytes(&self.device.pool_usage().held_steps)),
        }
    }
}

/// The decorations above and on top of a range of the x axis.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Decorations {
    /// In the order of [`Lanes::lanes`](vramscope_core::analysis::time::lanes::Lanes::lanes).
    pub lanes: Vec<DecoratedLane>,
    /// Sorted by kind, then from left to right.
    pub marks: Vec<Mark>,
    /// Highest reserved memory per device px; empty if it is not requested or not recorded.
    pub reserved: Curve,
    /// The same in a replay with other settings; empty if none is drawn.
    pub replayed: Curve,
    /// The envelopes of the private pools, from the bottom up.
    pub pools: Vec<PoolEnvelope>,
    /// The driver's memory pools.
    pub driver: DriverPools,
}

/// The driver's own figures for its memory pools, in captured snapshots.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct DriverPools {
    /// Reserved bytes of the pools; empty if not drawn or not known.
    pub reserved: Curve,
    /// Bytes of them in use.
    pub used: Curve,
    /// Memory in no known segment, stacked on reserved memory.
    pub unplaced: Envelope,
}

impl DriverPools {
    fn of(sources: Sources<'_>, view: &Viewport, reserved: &Curve) -> Self {
        if sources.reserved_steps.is_empty() {
            return Self::default();
        }
        let usage = sources.device.pool_usage();
        let of = |steps: &Steps| curve(steps, sources.bands, view);
        let held = of(&usage.held_steps).bytes.into_iter().zip(&reserved.bytes);
        let (low_bytes, high_bytes) = held.map(|(held, &low)| (low, held.max(low))).unzip();
        Self {
            reserved: of(&usage.reserved_steps),
            used: of(&usage.used_steps),
            unplaced: Envelope {
                low_bytes,
                high_bytes,
            },
        }
    }
}

/// The visible items of a lane.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct DecoratedLane {
    /// The kind of the lane's ranges.
    pub kind: LaneKind,
    /// The items of each row, outermost ranges first; only the first [`MOST_ROWS`] rows.
    pub rows: Vec<Vec<NamedItem>>,
}

/// A range, or several narrow ones drawn as one.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct NamedItem {
    /// Position and number of ranges.
    pub item: Item,
    /// The name of the ranges; empty if they differ.
    pub name: String,
    /// The name shortened for a label: a JSON object's values only.
    pub label: String,
    /// The moments before the first event and after the last.
    pub moments: Moments,
    /// Whether it is a single range whose start or end was not recorded.
    pub is_open: bool,
    /// The program's colour for the ranges: red, green, blue; `None` without one, or if the ranges differ.
    pub colour: Option<Rgb>,
    /// Category and payload of a single range as text; else empty.
    pub about: String,
}

/// The envelope of a private pool.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct PoolEnvelope {
    /// The pool's name; if there are very many pools, the smaller ones are summed up under one name.
    pub pool: String,
    /// The name of its stream; empty for the default stream.
    pub stream: String,
    /// Number of its colour: the pool's index among the file's pools, or their count for the sum of
    /// several.
    pub ordinal: u32,
    /// The unused part of its reserved memory, over the same columns as `reserved`.
    pub envelope: Envelope,
}

impl Decorations {
    /// The decorations of the visible range of the x axis.
    #[must_use]
    pub fn of(sources: Sources<'_>, view: &Viewport, pixel_ratio: f64) -> Self {
        let lanes = sources.device.lanes().lanes.iter();
        let cell_px = CELL_CSS * pixel_ratio;
        let reserved = curve(sources.reserved_steps, sources.bands, view);
        Self {
            lanes: lanes
                .map(|lane| decorated_lane(sources, lane, view, pixel_ratio))
                .collect(),
            marks: marks(sources.device.markers(), sources.bands, view, cell_px),
            driver: DriverPools::of(sources, view, &reserved),
            reserved,
            replayed: curve(sources.replayed_steps, sources.bands, view),
            pools: pool_envelopes(sources, view),
        }
    }
}

impl NamedItem {
    /// The text of its label; several ranges begin with their number.
    #[must_use]
    pub fn text(&self) -> String {
        if self.item.count > 1 {
            let count = crate::display::count(u64::from(self.item.count));
            return format!("×{count} {}", self.label).trim_end().to_owned();
        }
        self.label.trim_end().to_owned()
    }
}

impl PoolEnvelope {
    /// The text of its envelope's label.
    #[must_use]
    pub fn text(&self) -> String {
        let comma = if self.stream.is_empty() { "" } else { ", " };
        format!("{}{comma}{}: held, not used", self.pool, self.stream)
    }
}

fn decorated_lane(
    sources: Sources<'_>,
    lane: &Lane,
    view: &Viewport,
    pixel_ratio: f64,
) -> DecoratedLane {
    let rows = lane.rows.iter().take(MOST_ROWS).map(|row| {
        let items = visible(row, sources.bands, view, LEAST_CSS * pixel_ratio).into_iter();
        items
            .filter_map(|item| named_item(sources.device.snapshot(), row, item))
            .collect()
    });
    DecoratedLane {
        kind: lane.kind,
        rows: rows.collect(),
    }
}

fn named_item(snapshot: &Snapshot, row: &[LaneRange], item: Item) -> Option<NamedItem> {
    let first = item.first as usize;
    let ranges = row.get(first..first + item.count as usize)?;
    let (from, to) = (ranges.first()?, ranges.last()?);
    let colour = |range: &LaneRange| range.annotation(snapshot).and_then(|mark| mark.colour);
    let is_alike = |range: &LaneRange| range.name == from.name && colour(range) == colour(from);
    let are_alike = item.count <= COMPARED_NAMES && ranges.iter().all(is_alike);
    let name = if are_alike {
        from.name.text(&snapshot.strings)
    } else {
        ""
    };
    Some(NamedItem {
        item,
        name: name.chars().take(LONGEST_NAME).collect(),
        label: label(name).chars().take(LONGEST_NAME).collect(),
        moments: (from.from, to.to),
        is_open: item.count == 1 && (from.is_open_start || from.is_open_end),
        colour: colour(from).filter(|_| are_alike).map(|colour| {
            let [_, red, green, blue] = colour.to_be_bytes();
            [red, green, blue]
        }),
        about: if item.count == 1 {
            about(snapshot, from)
        } else {
            String::new()
        },
    })
}

/// Category and payload of a range: `category io · payload 3`.
fn about(snapshot: &Snapshot, range: &LaneRange) -> String {
    let Some(mark) = range.annotation(snapshot) else {
        return String::new();
    };
    let said = [("category", mark.category), ("payload", mark.payload)];
    let said = said.into_iter().filter_map(|(what, text)| {
        let text = snapshot.strings.get(text?).chars().take(LONGEST_NAME);
        Some(format!("{what} {}", text.collect::<String>()))
    });
    said.collect::<Vec<_>>().join(" · ")
}

/// A short form of a name. For a JSON object: its texts, and its numbers with their keys. For torch's own ranges of
/// optimizers: the part after the `#`.
fn label(name: &str) -> String {
    use serde_json::{Map, Value};
    if let Some((_, optimizer)) =
        (name.strip_prefix("Optimizer.")).and_then(|of| of.split_once('#'))
    {
        return optimizer.to_owned();
    }
    // A longer object would not fit into a label anyway.
    let is_json = name.starts_with('{') && name.len() < 4_096;
    let object = is_json.then(|| serde_json::from_str::<Map<String, Value>>(name).ok());
    let Some(Some(object)) = object else {
        return name.to_owned();
    };
    let words = object.iter().filter_map(|(key, value)| match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(_) | Value::Bool(_) => Some(format!("{key} {value}")),
        _ => None,
    });
    words.collect::<Vec<_>>().join(" · ")
}

fn pool_envelopes(sources: Sources<'_>, view: &Viewport) -> Vec<PoolEnvelope> {
    let uses = sources.pools;
    let steps: Vec<_> = uses
        .iter()
        .map(|pool| (&pool.reserved_steps[..], &pool.active_steps[..]))
        .collect();
    let streams = sources.device.recording.streams();
    let known = sources.device.recording.pools();
    let envelopes = envelopes(&steps, sources.bands, sources.index, view).into_iter();
    let pools = uses
        .iter()
        .zip(envelopes)
        .map(|(pool, envelope)| PoolEnvelope {
            pool: match pool.pool {
                Some(pool) => known.label(pool),
                None => "Smaller private pools".to_owned(),
            },
            stream: match streams.number(pool.stream) {
                None | Some(0) => String::new(),
                Some(number) => streams.numbered(number),
            },
            ordinal: match pool.pool {
                Some(pool) => known.number(pool).unwrap_or(0),
                None => known.all().len() as u32,
            },
            envelope,
        });
    pools.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_is_told_in_few_words() {
        assert_eq!(label(r#"{"phase":"forward","step":3}"#), "forward · step 3");
        assert_eq!(label("{not json"), "{not json");
        assert_eq!(label("forward"), "forward");
        assert_eq!(label("Optimizer.step#AdamW.step"), "AdamW.step");
    }
}
