//! What all views are about: the selected range, else the cursor's moment, else the peak.
//!
//! This is the only place that says so. Views ask for the [`Places`] of a device and turn their own choices into a
//! selection by them.

use serde::{Deserialize, Serialize};
use vramscope_core::analysis::time::selection::{Moments, Selection};
use vramscope_protocol::DeviceFacts;
use vramscope_view::display;

use super::DeviceView;

/// The allocations that a selected range stands for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OfRange {
    /// Allocated in it.
    #[default]
    Allocated,
    /// Allocated in it and live at its end.
    Retained,
    /// Freed in it, whenever they were allocated.
    Freed,
}

impl OfRange {
    /// All, in the order of their buttons.
    pub const ALL: [Self; 3] = [Self::Allocated, Self::Retained, Self::Freed];

    #[must_use]
    pub fn selection(self, range: Moments) -> Selection {
        match self {
            Self::Allocated => Selection::AllocatedIn(range),
            Self::Retained => Selection::RetainedFrom(range),
            Self::Freed => Selection::FreedIn(range),
        }
    }
}

/// The moments of a device's recording that views refer to.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Places {
    pub cursor: Option<u32>,
    /// The selected range.
    pub range: Option<Moments>,
    /// What the range stands for.
    pub of_range: OfRange,
    pub peak: u32,
    /// The last moment.
    pub end: u32,
}

impl Places {
    /// The moments of a device and its view.
    #[must_use]
    pub fn of(facts: &DeviceFacts, view: &DeviceView, of_range: OfRange) -> Self {
        Self {
            cursor: view.cursor_moment(),
            range: view.moments(),
            of_range,
            peak: facts.peak_moment,
            end: facts.events,
        }
    }

    /// What the user selected: the range, else the cursor's moment; `None` for neither.
    #[must_use]
    pub fn chosen(&self) -> Option<Selection> {
        let of_range = self.range.map(|range| self.of_range.selection(range));
        of_range.or(self.cursor.map(Selection::LiveAt))
    }

    /// What all views are about: what the user selected, else the peak.
    #[must_use]
    pub fn selected(&self) -> Selection {
        self.chosen().unwrap_or(Selection::LiveAt(self.peak))
    }

    /// The moments between which things change: the range's ends; without a range, the start of the recording and the
    /// cursor, else the peak.
    #[must_use]
    pub fn ends(&self) -> Moments {
        self.range
            .unwrap_or((0, self.cursor.unwrap_or(self.peak).min(self.end)))
    }

    /// Whether the recording has no trace: the dump is its only moment.
    fn is_state(&self) -> bool {
        self.end <= 1
    }

    /// The range, or the whole recording without one.
    #[must_use]
    pub fn range_or_all(&self) -> Moments {
        self.range.unwrap_or((0, self.end))
    }

    /// `reserved at event 12`, `taken from the device in the range`: the same of pieces of segments.
    #[must_use]
    pub fn words_of_segments(&self, selection: Selection) -> String {
        match selection {
            Selection::All => "all".to_owned(),
            Selection::LiveAt(_) => self.words(selection).replacen("live", "reserved", 1),
            Selection::AllocatedIn(_) => "taken from the device in the range".to_owned(),
            Selection::RetainedFrom(_) => {
                "taken from the device in the range and still held at its end".to_owned()
            }
            Selection::FreedIn(_) => "given back to the device in the range".to_owned(),
        }
    }

    /// The same as [`Self::words`], with the number of an event that has a name: `live at the peak, event 600`.
    #[must_use]
    pub fn exact_words(&self, selection: Selection) -> String {
        let words = self.words(selection);
        match selection {
            Selection::LiveAt(moment)
                if !self.is_state() && moment > 0 && [self.peak, self.end].contains(&moment) =>
            {
                format!("{words}, {}", display::event(u64::from(moment)))
            }
            _ => words,
        }
    }

    /// `live at the peak`, `live at event 12`, `allocated in the range`.
    #[must_use]
    pub fn words(&self, selection: Selection) -> String {
        let between = |range| {
            if Some(range) == self.range {
                "in the range"
            } else {
                "in the whole recording"
            }
        };
        match selection {
            Selection::All => "all".to_owned(),
            Selection::LiveAt(_) if self.is_state() => "live at the dump".to_owned(),
            Selection::LiveAt(moment) if moment == self.peak => "live at the peak".to_owned(),
            Selection::LiveAt(moment) if moment == self.end => "live at the end".to_owned(),
            Selection::LiveAt(0) => "live at the start".to_owned(),
            Selection::LiveAt(moment) => format!("live at {}", display::event(u64::from(moment))),
            Selection::AllocatedIn(range) => format!("allocated {}", between(range)),
            Selection::RetainedFrom(range) if Some(range) == self.range => {
                "allocated in the range and still live at its end".to_owned()
            }
            Selection::RetainedFrom(_) => "allocated and never freed".to_owned(),
            Selection::FreedIn(range) => format!("freed {}", between(range)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NONE: Places = Places {
        cursor: None,
        range: None,
        of_range: OfRange::Allocated,
        peak: 7,
        end: 20,
    };

    #[test]
    fn a_range_goes_before_the_cursor_and_that_before_the_peak() {
        let cursor = Places {
            cursor: Some(3),
            ..NONE
        };
        let range = Places {
            range: Some((4, 9)),
            ..cursor
        };
        assert_eq!(NONE.selected(), Selection::LiveAt(7));
        assert_eq!((NONE.chosen(), NONE.ends()), (None, (0, 7)));
        assert_eq!(cursor.selected(), Selection::LiveAt(3));
        assert_eq!(cursor.ends(), (0, 3));
        assert_eq!(range.selected(), Selection::AllocatedIn((4, 9)));
        assert_eq!(range.ends(), (4, 9));
        let freed = Places {
            of_range: OfRange::Freed,
            ..range
        };
        assert_eq!(freed.selected(), Selection::FreedIn((4, 9)));
    }

    #[test]
    fn words_say_what_is_meant() {
        let range = Places {
            range: Some((4, 9)),
            ..NONE
        };
        for (selection, words) in [
            (Selection::LiveAt(7), "live at the peak"),
            (Selection::LiveAt(20), "live at the end"),
            (Selection::LiveAt(3), "live at event 3"),
            (Selection::AllocatedIn((4, 9)), "allocated in the range"),
            (
                Selection::AllocatedIn((0, 20)),
                "allocated in the whole recording",
            ),
            (
                Selection::RetainedFrom((0, 20)),
                "allocated and never freed",
            ),
            (Selection::FreedIn((4, 9)), "freed in the range"),
        ] {
            assert_eq!(range.words(selection), words);
        }
        assert_eq!(
            NONE.exact_words(Selection::LiveAt(7)),
            "live at the peak, event 7"
        );
    }
}
