//! Pictures of views: the title, legend and content of each.
//!
//! A picture is made from a description of the view. `vramscope plot` makes the description from its options, the page from
//! its state. The same description of the same file gives the same picture, byte for byte.

mod allocator;
mod compare;
mod flame;
mod over_time;

use serde::{Deserialize, Serialize};
use vramscope_core::analysis::recording::Device;
use vramscope_core::analysis::time::selection::{Moments, Selection};
use vramscope_core::units::Count;

pub use self::allocator::AllocatorView;
pub use self::compare::{CompareView, ComparedSide};
pub use self::flame::FlameView;
pub use self::over_time::{LinesOver, OverTimeView};
use super::{Content, LEAST_CSS, LegendLine, MOST_PX, Plot, PlotError, PlotStyle, least_px};
use crate::bitset::BitSet;
use crate::colour::Leaders;
use crate::groups::{GroupTotal, Groups};
use crate::reserved::Steps;
use crate::theme::{Theme, ThemeName};

/// Largest height of a picture whose height is flexible, device px.
const MOST_HEIGHT_PX: u32 = 12_000;

/// Picture files.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Format {
    /// Shapes and text, which can be edited and searched.
    Svg,
    /// Pixels.
    #[cfg(feature = "font")]
    Png,
}

/// Size and colours of a picture.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Sheet {
    /// Width, device px.
    pub width_px: u32,
    /// Height, device px.
    pub height_px: u32,
    /// Whether the height may change so that the view shows everything and leaves no empty space.
    pub is_flexible: bool,
    /// Device px per css px.
    pub pixel_ratio: f64,
    /// Colour theme.
    pub theme: ThemeName,
}

impl Sheet {
    /// The sheet with its size clamped to the sizes that pictures can have.
    #[must_use]
    pub fn clamped(self) -> Self {
        let side = |px: u32, least_css| px.max(least_px(least_css, self.pixel_ratio)).min(MOST_PX);
        Self {
            width_px: side(self.width_px, LEAST_CSS.0),
            height_px: side(self.height_px, LEAST_CSS.1),
            ..self
        }
    }

    fn file<C: Content>(&self, plot: &Plot<'_, C>, format: Format) -> Result<Vec<u8>, PlotError> {
        let mut style = PlotStyle {
            width_px: self.width_px,
            height_px: self.height_px,
            pixel_ratio: self.pixel_ratio,
            theme: &Theme::of(self.theme),
        };
        if self.is_flexible {
            style.height_px = plot.height_px(&style).min(MOST_HEIGHT_PX);
        }
        match format {
            Format::Svg => plot.to_svg(&style).map(String::into_bytes),
            #[cfg(feature = "font")]
            Format::Png => plot.to_png(&style),
        }
    }
}

/// One device of a file, and the search in it.
#[derive(Clone, Copy, Debug)]
pub struct Subject<'a> {
    /// Name of the file in the title.
    pub file: &'a str,
    /// The device.
    pub device: Device<'a>,
    /// The call sites with distinct colours: those of the whole file, even when only some memory pools are shown.
    pub leaders: &'a Leaders,
    /// The search; `None` if nothing is searched for.
    pub search: Option<Search<'a>>,
    /// Reserved memory in a replay with other settings, for the timeline; empty for none.
    pub replayed_steps: &'a Steps,
}

/// A search. Allocations that do not match are dimmed.
#[derive(Clone, Copy, Debug)]
pub struct Search<'a> {
    /// The filter's text.
    pub text: &'a str,
    /// The allocations that match it.
    pub found: &'a BitSet,
}

impl<'a> Subject<'a> {
    fn found(&self) -> Option<&'a BitSet> {
        self.search.map(|search| search.found)
    }

    /// Adds the search to a subtitle.
    fn subtitle(&self, words: String) -> String {
        match self.search {
            Some(Search { text, .. }) => format!("{words} · search: {text}"),
            None => words,
        }
    }
}

/// A view of one device.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub enum View {
    /// Timeline, segment timeline or map.
    OverTime(OverTimeView),
    /// Segments and blocks at one moment.
    Allocator(AllocatorView),
    /// A flame graph.
    Flame(FlameView),
}

impl View {
    /// Draws the view, as the bytes of a file.
    ///
    /// # Errors
    /// If the sheet's size is out of range, or encoding fails.
    pub fn file(
        &self,
        subject: &Subject<'_>,
        sheet: &Sheet,
        format: Format,
    ) -> Result<Vec<u8>, PlotError> {
        match self {
            Self::OverTime(view) => over_time::file(view, subject, sheet, format),
            Self::Allocator(view) => allocator::file(view, subject, sheet, format),
            Self::Flame(view) => flame::file(view, subject, sheet, format),
        }
    }
}

/// Legend lines of groups, in the order of the totals.
fn legend_lines(groups: &Groups, totals: &[GroupTotal]) -> Vec<LegendLine> {
    let line = |total: &GroupTotal| {
        let group = total.group as usize;
        Some(LegendLine {
            rgb: *groups.rgb.get(group)?,
            label: groups.labels.get(group)?.clone(),
            bytes: Some(total.bytes),
        })
    };
    totals.iter().filter_map(line).collect()
}

/// `after event 1,234`, `from the start`; `at the dump` if a recording of fewer than two events is only a state.
fn moment_words(moment: u32, event_count: u32) -> String {
    match moment {
        _ if event_count < 2 => "at the dump".to_owned(),
        0 => "from the start".to_owned(),
        moment => format!("after event {}", Count(u64::from(moment))),
    }
}

/// A selection as text, for a recording with `event_count` events.
fn selection_words(selection: Selection, event_count: u32) -> String {
    let all = (0, event_count);
    let between = |(from, to): Moments| (Count(from.into()), Count(to.into()));
    match selection {
        Selection::All => "all allocations".to_owned(),
        Selection::LiveAt(moment) => format!("live {}", moment_words(moment, event_count)),
        Selection::AllocatedIn(range) if range == all => {
            "allocated in the whole recording".to_owned()
        }
        Selection::RetainedFrom(range) if range == all => "allocated and never freed".to_owned(),
        Selection::AllocatedIn(range) => {
            let (from, to) = between(range);
            format!("allocated in events {from} to {to}")
        }
        Selection::RetainedFrom(range) => {
            let (from, to) = between(range);
            format!("retained from events {from} to {to}")
        }
        Selection::FreedIn(range) => {
            let (from, to) = between(range);
            format!("freed in events {from} to {to}")
        }
    }
}
