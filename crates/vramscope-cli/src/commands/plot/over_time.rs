//! The pictures over time: timeline, segment timeline and map.

use vramscope_core::analysis::groups::live_at::live_at;
use vramscope_core::analysis::memory::pool_use::pool_uses;
use vramscope_core::analysis::memory::segment_history::SegmentHistory;
use vramscope_core::ids::AllocationId;
use vramscope_core::units::{Bytes, Count};
use vramscope_view::colour::ColourMode;
use vramscope_view::groups::Groups;
use vramscope_view::map::{Lanes, MemoryMap};
use vramscope_view::plot::{Legend, LegendLine, OverTime, Plot, Stack};
use vramscope_view::raster::{Bands, TimelineIndex};
use vramscope_view::reserved::leaves_room;
use vramscope_view::segment_bands::SegmentBands;
use vramscope_view::shown::Sources;
use vramscope_view::views::ViewKind;

use super::arguments::Axis;
use super::sheet::{Sheet, legend_lines};
use super::{Options, moment_words, title};
use crate::failure::Failure;
use crate::subject::Device;

/// Draws one of the three.
pub(super) fn draw(
    options: &Options,
    device: &Device<'_>,
    sheet: &Sheet<'_>,
) -> Result<Vec<u8>, Failure> {
    let (subject, history) = (device.subject, device.history);
    let is_time = options.axis == Some(Axis::Time);
    if is_time && history.moment_start_us.is_empty() {
        return Err(Failure::Input(format!(
            "{}: the events have no times; use --axis event",
            subject.name
        )));
    }
    let bands = Bands::of(history, is_time);
    let index = TimelineIndex::new(&bands);
    let segments = device.segments();
    let x = options
        .range
        .as_deref()
        .map(|range| on_axis(range, device, &bands))
        .transpose()?;
    let lines = Lines::of(options, device);
    let pools = if lines.reserved {
        pool_uses(&subject.snapshot, history, segments)
    } else {
        Vec::new()
    };
    let around = Sources {
        device: **device,
        bands: &bands,
        index: &index,
        reserved_steps: if lines.reserved {
            &history.reserved_steps
        } else {
            &[]
        },
        pools: &pools,
    };
    let scene = Scene {
        options,
        device,
        sheet,
        bands: &bands,
        index: &index,
        segments,
        x,
        around,
        capacity_bytes: lines.capacity_bytes,
    };
    match options.view {
        ViewKind::Segments => scene.segments(),
        ViewKind::Map => scene.map(),
        _ => scene.timeline(),
    }
}

/// The lines over a picture. Without a request, only those that leave room for the picture.
struct Lines {
    reserved: bool,
    capacity_bytes: Option<u64>,
}

impl Lines {
    fn of(options: &Options, device: &Device<'_>) -> Self {
        let view = options.view;
        let peak_reserved = device.history.most_reserved_bytes();
        let height = match view {
            ViewKind::Segments => peak_reserved,
            _ => device.peak_bytes(),
        };
        let known = device.capacity().map(|capacity| capacity.bytes);
        let has_room = |bytes: u64| options.reserved || leaves_room(bytes, height);
        let fits = |bytes: &u64| view != ViewKind::Map && *bytes > 0 && has_room(*bytes);
        Self {
            reserved: view == ViewKind::Timeline && fits(&peak_reserved),
            capacity_bytes: known.filter(fits),
        }
    }
}

/// Converts a range to the axis's unit: events, or µs from the start.
fn on_axis(range: &str, device: &Device<'_>, bands: &Bands<'_>) -> Result<(f64, f64), Failure> {
    let range = match bands.moment_start_us {
        Some(_) => in_seconds(range),
        None => range.to_owned(),
    };
    let (from, to) = device.range(&range)?;
    let x = |moment: u32| bands.moment_x(moment as usize);
    let end = if to >= device.history.event_count {
        bands.x_end()
    } else {
        // An empty range is widened to the next event, so that it can be seen.
        x(to).max(x(from + 1))
    };
    Ok((x(from), end))
}

/// On a time axis, plain numbers are seconds.
fn in_seconds(range: &str) -> String {
    let end = |text: &str| match text.trim().parse::<f64>() {
        Ok(seconds) => format!("{seconds}s"),
        Err(_) => text.to_owned(),
    };
    match range.split_once("..") {
        Some((from, to)) => format!("{}..{}", end(from), end(to)),
        None => range.to_owned(),
    }
}

/// The data of all three pictures.
struct Scene<'a> {
    options: &'a Options,
    device: &'a Device<'a>,
    sheet: &'a Sheet<'a>,
    bands: &'a Bands<'a>,
    index: &'a TimelineIndex,
    segments: &'a SegmentHistory,
    x: Option<(f64, f64)>,
    around: Sources<'a>,
    capacity_bytes: Option<u64>,
}

/// The texts of a picture.
struct Words<'a> {
    subtitle: &'a str,
    note: &'a str,
    legend_title: &'a str,
    legend: &'a [LegendLine],
}

impl Scene<'_> {
    fn timeline(&self) -> Result<Vec<u8>, Failure> {
        let groups = self.groups();
        let peak_moment = self.highest(self.bands, self.index);
        let legend = self.live_legend(&groups, peak_moment);
        let words = Words {
            subtitle: &self.live_subtitle(peak_moment),
            note: self.live_note(),
            legend_title: &self.live_title(),
            legend: &legend,
        };
        let content = self.content(Stack::Bands(self.index), self.bands, &groups);
        self.file(&words, content)
    }

    fn map(&self) -> Result<Vec<u8>, Failure> {
        let (history, sizes) = (self.device.history, self.device.block_sizes());
        let held = |row: usize| sizes.bytes(history, AllocationId::from_index(row));
        let lanes = Lanes::new(&history.allocations, self.segments);
        let map = MemoryMap::new(&history.allocations, self.segments, lanes, held);
        let stream = |stream: i64| self.device.subject.stream_label_or_default(stream);
        let (lanes, lane_groups) = map.lanes.marks(self.segments, stream);
        let groups = self.groups();
        let peak_moment = self.highest(self.bands, self.index);
        let mut legend = vec![LegendLine {
            rgb: self.sheet.theme.held_free,
            label: "reserved, but free".to_owned(),
            bytes: None,
        }];
        legend.extend(self.live_legend(&groups, peak_moment));
        let words = Words {
            subtitle: &self.live_subtitle(peak_moment),
            note: if lanes.is_empty() {
                "nothing has an address in this recording"
            } else {
                ""
            },
            legend_title: &self.live_title(),
            legend: &legend,
        };
        let stack = Stack::Map {
            map: &map,
            lanes: &lanes,
            groups: &lane_groups,
        };
        let content = self.content(stack, self.bands, &groups);
        self.file(&words, content)
    }

    fn segments(&self) -> Result<Vec<u8>, Failure> {
        let segments = self.segments;
        let columns = SegmentBands::of(segments, self.device.history);
        let bands = columns.bands(segments, *self.bands);
        let peak = self.highest(&bands, &columns.index);
        let mode = self.options.colour.unwrap_or_default();
        let groups = Groups::of_segments(mode.mode(), self.sheet.theme, **self.device);
        let is_held = |&piece: &u32| {
            let piece = piece as usize;
            segments.born[piece] <= peak && peak < segments.died[piece]
        };
        let held = (0..segments.len() as u32).filter(is_held);
        let legend = legend_lines(&groups, &groups.totals(&segments.bytes, held));
        let by = match mode.mode() {
            ColourMode::Category => "size of requests",
            // Without stacks, each segment has its own colour.
            ColourMode::CallSite if groups.group_of == segments.segment => "segment",
            _ => mode.word(),
        };
        let peak_bytes = bands.total_bytes.get(peak as usize).copied().unwrap_or(0);
        let words = Words {
            subtitle: &format!(
                "device {} · {} segments · reserved memory, at most {} {}",
                self.device.index(),
                Count(segments.segments.len() as u64),
                Bytes(peak_bytes),
                moment_words(peak)
            ),
            note: if segments.is_empty() {
                "the file has no data on segments"
            } else {
                ""
            },
            legend_title: &format!("reserved at the highest moment, by {by}"),
            legend: &legend,
        };
        let content = self.content(Stack::Bands(&columns.index), &bands, &groups);
        self.file(&words, content)
    }

    fn groups(&self) -> Groups {
        let mode = self.options.colour.unwrap_or_default().mode();
        Groups::of(mode, self.sheet.theme, **self.device)
    }

    /// The moment in the shown range with the most live bytes.
    fn highest(&self, bands: &Bands<'_>, index: &TimelineIndex) -> u32 {
        let (from, to) = self.x.unwrap_or((0.0, bands.x_end()));
        let shown = bands.moments_in(from, to);
        shown.map_or(0, |moments| index.highest_in(bands, moments))
    }

    /// The legend of groups live at a moment, the largest first.
    fn live_legend(&self, groups: &Groups, moment: u32) -> Vec<LegendLine> {
        let history = self.device.history;
        let live = live_at(history, moment).map(|id| id.0);
        legend_lines(groups, &groups.totals(&history.allocations.bytes, live))
    }

    fn live_title(&self) -> String {
        let by = self.options.colour.unwrap_or_default().word();
        let when = if self.x.is_some() {
            "the highest moment shown"
        } else {
            "the peak"
        };
        format!("live at {when}, by {by}")
    }

    fn live_subtitle(&self, peak_moment: u32) -> String {
        let allocations = Count(self.device.history.allocations.len() as u64);
        let mut words = format!(
            "device {} · {allocations} allocations · peak {} {}",
            self.device.index(),
            Bytes(self.device.history.active_bytes_at(peak_moment)),
            moment_words(peak_moment)
        );
        let reserved = self.device.history.reserved_bytes(peak_moment);
        if reserved > 0 {
            words.push_str(&format!(", {} reserved then", Bytes(reserved)));
        }
        words
    }

    fn live_note(&self) -> &'static str {
        if self.device.history.allocations.is_empty() {
            "no allocation was recorded"
        } else {
            ""
        }
    }

    fn content<'b>(
        &'b self,
        stack: Stack<'b>,
        bands: &'b Bands<'b>,
        groups: &'b Groups,
    ) -> OverTime<'b> {
        OverTime {
            stack,
            bands,
            colours: &groups.colours,
            matches: None,
            x: self.x,
            y_bytes: None,
            around: Some(self.around),
            capacity_bytes: self.capacity_bytes,
        }
    }

    fn file(&self, words: &Words<'_>, content: OverTime<'_>) -> Result<Vec<u8>, Failure> {
        self.sheet.file(&Plot {
            title: &title(&self.device.subject.name),
            subtitle: words.subtitle,
            note: words.note,
            legend: Legend {
                title: words.legend_title,
                lines: words.legend,
            },
            content,
        })
    }
}
