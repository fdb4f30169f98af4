//! Memory over time: timeline, segment timeline and map.

use std::ops::RangeInclusive;

use serde::{Deserialize, Serialize};
use vramscope_core::analysis::groups::live_at::live_at;
use vramscope_core::analysis::memory::private_pools::private_pools;
use vramscope_core::analysis::recording::Device;
use vramscope_core::ids::AllocationId;
use vramscope_core::units::{Bytes, Count};

use super::{Format, Sheet, Subject, legend_lines, moment_words};
use crate::axes::XUnit;
use crate::band_labels::BandNames;
use crate::decorations::Sources;
use crate::groups::{Groups, Lives, name_of_segments};
use crate::map::{Lanes, MemoryMap};
use crate::plot::{Legend, LegendLine, OverTime, Plot, PlotError, Stack};
use crate::raster::{Bands, TimelineIndex};
use crate::reserved::{capacity_leaves_room, reserved_leaves_room};
use crate::restacked::{Restacked, Stacking, pieces_in_pool};
use crate::segment_bands::SegmentBands;
use crate::theme::Theme;
use crate::views::Picture;
use vramscope_core::analysis::properties::Property;

/// Memory over time.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct OverTimeView {
    /// Kind of picture. For a packing, the timeline is drawn.
    pub picture: Picture,
    /// Unit of the x axis; events if the recording has no times.
    pub axis: XUnit,
    /// Meaning of the colours.
    pub colour_by: Property,
    /// Visible range of the x axis, in its unit; `None` for all of it.
    pub x: Option<(f64, f64)>,
    /// Visible range of the y axis, bytes; `None` for all of it.
    pub y_bytes: Option<(f64, f64)>,
    /// Lines over the picture.
    pub lines: LinesOver,
    /// Whether the lanes of named ranges are folded although they have room.
    pub is_folded: bool,
    /// Order of the timeline's bands.
    #[serde(default)]
    pub stacking: Stacking,
}

/// Lines drawn over a picture.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct LinesOver {
    /// Whether reserved memory is drawn.
    pub reserved: bool,
    /// Whether private pools are drawn.
    pub pools: bool,
    /// The device's capacity; `None` if it is not drawn.
    pub capacity_bytes: Option<u64>,
}

impl LinesOver {
    /// The lines of a device over a picture. Without `is_asked`, only lines that leave enough of the height to the picture.
    #[must_use]
    pub fn of(device: Device<'_>, picture: Picture, is_asked: bool) -> Self {
        let peak_reserved = device.history.most_reserved_bytes();
        let height = match picture {
            Picture::Timeline => device.peak_bytes(),
            Picture::Segments => peak_reserved,
            Picture::Map | Picture::Packing => return Self::default(),
        };
        let reserved = picture == Picture::Timeline
            && peak_reserved > 0
            && (is_asked || reserved_leaves_room(peak_reserved, height));
        let fits = |bytes: &u64| *bytes > 0 && (is_asked || capacity_leaves_room(*bytes, height));
        let known = device.capacity();
        Self {
            reserved,
            pools: reserved && !device.recording.is_within_pools(),
            capacity_bytes: known.map(|capacity| capacity.bytes).filter(fits),
        }
    }
}

pub(super) fn file(
    view: &OverTimeView,
    subject: &Subject<'_>,
    sheet: &Sheet,
    format: Format,
) -> Result<Vec<u8>, PlotError> {
    let (device, lines) = (subject.device, view.lines);
    let history = device.history;
    let bands = Bands::of(history, view.axis == XUnit::Time);
    let index = TimelineIndex::new(&bands);
    let pools = if lines.pools {
        private_pools(device.snapshot(), history, device.segments())
    } else {
        Vec::new()
    };
    let around = Sources {
        device,
        bands: &bands,
        index: &index,
        reserved_steps: if lines.reserved || lines.pools {
            &history.reserved_steps
        } else {
            &[]
        },
        replayed_steps: subject.replayed_steps,
        pools: &pools,
    };
    let picture = Drawing {
        view,
        subject,
        device,
        sheet,
        theme: Theme::of(sheet.theme),
        bands: &bands,
        index: &index,
        around,
        format,
    };
    match view.picture {
        Picture::Timeline | Picture::Packing => picture.timeline(),
        Picture::Segments => picture.segments(),
        Picture::Map => picture.map(),
    }
}

/// The data of all three pictures.
struct Drawing<'a> {
    view: &'a OverTimeView,
    subject: &'a Subject<'a>,
    device: Device<'a>,
    sheet: &'a Sheet,
    theme: Theme,
    bands: &'a Bands<'a>,
    index: &'a TimelineIndex,
    around: Sources<'a>,
    format: Format,
}

/// The texts of a picture.
struct Words<'a> {
    subtitle: String,
    note: &'a str,
    legend_title: &'a str,
    legend: &'a [LegendLine],
}

impl Drawing<'_> {
    fn timeline(&self) -> Result<Vec<u8>, PlotError> {
        let groups = self.groups();
        let peak_moment = self.highest(self.bands, self.index);
        let words = Words {
            subtitle: self.live_subtitle(peak_moment),
            note: self.live_note(),
            legend_title: &self.live_title(),
            legend: &self.live_legend(&groups, self.bands, peak_moment),
        };
        let found = self.subject.found();
        let Some(of) = Restacked::new(self.bands, &groups, found, self.view.stacking) else {
            let content = OverTime {
                names: self.names(None),
                ..self.content(Stack::Bands(self.index), self.bands, &groups)
            };
            return self.file(words, content);
        };
        let bands = of.bands(*self.bands);
        let content = OverTime {
            matches: of.matches.as_ref(),
            colours: &of.colours,
            names: self.names(Some(&of)),
            ..self.content(Stack::Bands(&of.index), &bands, &groups)
        };
        self.file(words, content)
    }

    fn map(&self) -> Result<Vec<u8>, PlotError> {
        let (device, history) = (self.device, self.device.history);
        let (segments, sizes) = (device.segments(), device.block_sizes());
        let held = |row: usize| sizes.bytes(history, AllocationId::from_index(row));
        let lanes = Lanes::new(&history.allocations, segments);
        let map = MemoryMap::new(&history.allocations, segments, lanes, held);
        let (lanes, lane_groups) = map.lanes.marks(segments, device.recording);
        let groups = self.groups();
        let peak_moment = self.highest(self.bands, self.index);
        let mut legend = vec![LegendLine {
            rgb: self.theme.held_free,
            label: "reserved, but free".to_owned(),
            bytes: None,
        }];
        legend.extend(self.live_legend(&groups, self.bands, peak_moment));
        let words = Words {
            subtitle: self.live_subtitle(peak_moment),
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
        self.file(words, content)
    }

    fn segments(&self) -> Result<Vec<u8>, PlotError> {
        let (device, segments) = (self.device, self.device.segments());
        let columns = SegmentBands::of(segments, device.history);
        let bands = columns.bands(segments, *self.bands);
        let peak = self.highest(&bands, &columns.index);
        let mode = self.view.colour_by;
        let groups = Groups::of_segments(mode, &self.theme, self.subject.leaders, device);
        let is_held = |&piece: &u32| {
            let piece = piece as usize;
            segments.born[piece] <= peak && peak < segments.died[piece]
        };
        let held = (0..segments.len() as u32).filter(is_held);
        let shown = self.moments(&bands).unwrap_or(peak..=peak);
        let by = name_of_segments(mode);
        let peak_bytes = bands.total_bytes.at(peak);
        let (at_most, when) = if device.history.has_trace() {
            ("at most ", " at the highest moment")
        } else {
            ("", "")
        };
        let subtitle = match device.is_reserved_known() {
            true => format!(
                "{} · {} segments · reserved memory, {at_most}{} {}",
                device.title(),
                Count(segments.segments.len() as u64),
                Bytes(peak_bytes),
                moment_words(peak, device.history.event_count)
            ),
            false => format!("{} · no segment is recorded", device.title()),
        };
        let words = Words {
            subtitle,
            note: if segments.is_empty() {
                "the file has no data on segments"
            } else {
                ""
            },
            legend_title: &format!("reserved{when}, by {by}"),
            legend: &legend_lines(
                &groups,
                &groups.legend(Lives::of_segments(segments), held, shown, usize::MAX),
            ),
        };
        // Only the pool of a search applies to segments.
        let search = self.subject.search;
        let in_pool = search.and_then(|search| pieces_in_pool(segments, search.text));
        let content = OverTime {
            matches: in_pool.as_ref(),
            ..self.content(Stack::Bands(&columns.index), &bands, &groups)
        };
        self.file(words, content)
    }

    fn groups(&self) -> Groups {
        let leaders = self.subject.leaders;
        Groups::of(self.view.colour_by, &self.theme, leaders, self.device)
    }

    /// The moments in the shown range; `None` if there are none.
    fn moments(&self, bands: &Bands<'_>) -> Option<RangeInclusive<u32>> {
        let (from, to) = self.view.x.unwrap_or((0.0, bands.x_end()));
        bands.moments_in(from, to)
    }

    /// The moment in the shown range with the most live bytes.
    fn highest(&self, bands: &Bands<'_>, index: &TimelineIndex) -> u32 {
        let shown = self.moments(bands);
        shown.map_or(0, |moments| index.highest_in(bands, moments))
    }

    /// The legend of groups live at a moment, largest first, followed by groups drawn elsewhere.
    fn live_legend(&self, groups: &Groups, bands: &Bands<'_>, moment: u32) -> Vec<LegendLine> {
        let history = self.device.history;
        let live = live_at(history, moment).map(|id| id.0);
        let shown = self.moments(bands).unwrap_or(moment..=moment);
        legend_lines(
            groups,
            &groups.legend(Lives::of(history), live, shown, usize::MAX),
        )
    }

    fn live_title(&self) -> String {
        let when = match self.view.x {
            _ if !self.device.history.has_trace() => "the dump",
            Some(_) => "the highest moment shown",
            None => "the peak",
        };
        format!("live at {when}, by {}", self.view.colour_by.name())
    }

    fn live_subtitle(&self, peak_moment: u32) -> String {
        let history = self.device.history;
        let highest = if history.has_trace() { "peak" } else { "live" };
        let mut words = format!(
            "{} · {} allocations · {highest} {} {}",
            self.device.title(),
            Count(history.allocations.len() as u64),
            Bytes(history.active_bytes_at(peak_moment)),
            moment_words(peak_moment, history.event_count)
        );
        let reserved = history.reserved_bytes(peak_moment);
        if reserved > 0 {
            words.push_str(&format!(", {} reserved then", Bytes(reserved)));
        }
        self.subject.subtitle(words)
    }

    fn live_note(&self) -> &'static str {
        if self.device.history.allocations.is_empty() {
            "no allocation was recorded"
        } else {
            ""
        }
    }

    fn names<'b>(&'b self, restacked: Option<&'b Restacked>) -> Option<BandNames<'b>> {
        let device = self.device;
        Some(BandNames { device, restacked })
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
            matches: self.subject.found(),
            names: None,
            x: self.view.x,
            y_bytes: self.view.y_bytes,
            around: Some(self.around),
            capacity_bytes: self.view.lines.capacity_bytes,
            is_folded: self.view.is_folded,
        }
    }

    fn file(&self, words: Words<'_>, content: OverTime<'_>) -> Result<Vec<u8>, PlotError> {
        let plot = Plot {
            title: self.subject.file,
            subtitle: &words.subtitle,
            note: words.note,
            legend: Legend {
                title: words.legend_title,
                lines: words.legend,
            },
            content,
        };
        self.sheet.file(&plot, self.format)
    }
}
