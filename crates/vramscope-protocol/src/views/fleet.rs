//! The questions about a fleet: ranks over time, and tables of ranks and call sites.

use serde::{Deserialize, Serialize};
use vramscope_core::analysis::compare::changes::SettingChange;
pub use vramscope_core::fleet::questions::OddValue;
pub use vramscope_core::fleet::statistic::{Measure, Usual};
pub use vramscope_view::fleet::{Along, Frame, Look, MarkKind, Memory, Offers, Unit};

use crate::ThemeName;

/// A fleet that is read.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct FleetFile {
    /// The file's size.
    pub file_bytes: u64,
    /// Number of its ranks.
    pub ranks: u32,
    /// Duration of reading, in ms.
    pub read_ms: f64,
}

/// The order of ranks.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Order {
    /// By their numbers.
    #[default]
    Rank,
    /// The highest peak first.
    Peak,
    /// The one that differs most from the rest first.
    Odd,
}

/// The ranks that are shown, and their order.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Shown {
    pub order: Order,
    /// The text of the search box; empty shows all.
    pub search: String,
}

/// A heat map.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Drawing {
    pub shown: Shown,
    pub look: Look,
    /// Size in device px.
    pub size_px: (u32, u32),
    /// Device px per css px.
    pub pixel_ratio: f64,
    pub theme: ThemeName,
}

/// A question about a fleet.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub enum Question {
    /// Answered by [`Answer::Drawn`], with the pixels as attachment.
    Draw(Drawing),
    /// What is at a pixel. Answered by [`Answer::At`].
    At {
        drawing: Drawing,
        /// Device px from the picture's upper left corner.
        at_px: (u32, u32),
    },
    /// Rows of the table of ranks. Answered by [`Answer::Ranks`].
    Ranks {
        shown: Shown,
        first: u32,
        count: u32,
        /// The rank whose row is wanted, too.
        locate: Option<u32>,
    },
    /// Rows of the table of call sites. Answered by [`Answer::Sites`].
    Sites {
        shown: Shown,
        first: u32,
        count: u32,
    },
    /// What opens a rank, beside the rank with the median peak. Answered by [`Answer::Ways`].
    Ways {
        shown: Shown,
        rank: u32,
        /// A place in a heat map; `None` for the peak.
        at: Option<(Look, Place)>,
    },
}

/// An answer about a fleet.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub enum Answer {
    Drawn(Drawn),
    At(At),
    Ranks(Ranks),
    Sites(Sites),
    Ways(Ways),
}

/// What belongs to the pixels of a heat map.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Drawn {
    pub frame: Frame,
    /// What is shown: what was asked, or the nearest that the files tell.
    pub look: Look,
    pub offers: Offers,
    /// What the strongest colour stands for.
    pub highest_bytes: u64,
    /// Colours from none to the most.
    pub ramp: Vec<[u8; 3]>,
    /// Shown ranks without a place on this axis.
    pub blank: u32,
    /// When the axis begins, in µs since the Unix epoch; `None` if it is not by clock.
    pub start_us: Option<i64>,
}

/// A place on the axis of a heat map.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Place {
    /// Units from its left end.
    pub at: u64,
    /// The moment that is marked there.
    pub moment: Option<u32>,
}

/// What is at a pixel.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct At {
    /// The place of the rank's row.
    pub row: u32,
    pub rank: RankLine,
    pub place: Place,
    pub look: Look,
    pub unit: Unit,
    /// The number of the first step.
    pub first_step: u64,
    /// The most bytes there; `None` if nothing was recorded.
    pub bytes: Option<u64>,
    /// What is marked there.
    pub mark: Option<MarkKind>,
}

/// A rank in short.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct RankLine {
    /// Its place in the file, by which questions name it.
    pub id: u32,
    /// Its number in the job.
    pub number: u32,
    /// Its device; `None` if no file of the fleet has several.
    pub device: Option<u32>,
    pub host: String,
    pub job: String,
    pub step: Option<u64>,
    /// The path of its snapshot.
    pub path: String,
    pub peak_bytes: u64,
    /// `None` if unknown.
    pub reserved_bytes: Option<u64>,
    pub end_bytes: u64,
    pub ooms: u64,
    /// How often its snapshot was found damaged.
    pub damage: u64,
    /// In what it differs from the ranks of the same job and step, the oddest first.
    pub odd: Vec<OddValue>,
    /// Its settings that differ from those of most ranks.
    pub settings: Vec<SettingChange>,
}

/// Rows of the table of ranks.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Ranks {
    /// Number of rows in all.
    pub all: u32,
    /// The first snapshots that could not be read, each with the reason.
    pub unreadable: Vec<(String, String)>,
    /// Number of all of them.
    pub all_unreadable: u64,
    pub first: u32,
    pub rows: Vec<RankLine>,
    /// The rank that was to be located, with its row; `None` if it is not shown.
    pub located: Option<(u32, RankLine)>,
}

/// Rows of the table of call sites, the largest first.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Sites {
    /// Number of rows in all.
    pub all: u32,
    pub first: u32,
    pub rows: Vec<SiteLine>,
}

/// What a call site holds at the peak of each shown rank.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct SiteLine {
    pub label: String,
    pub usual: Usual,
    /// The number of the rank with the most.
    pub most_at: u32,
    /// Number of ranks that have it.
    pub ranks: u64,
    /// The numbers of the first ranks that are odd there.
    pub odd: Vec<u32>,
    /// Number of all of them.
    pub all_odd: u32,
}

/// A snapshot, and a place in it.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Way {
    /// The rank's number.
    pub number: u32,
    /// The snapshot's path, with `/` between its parts.
    pub path: String,
    /// Its name as the page shows it.
    pub name: String,
    pub file_bytes: u64,
    pub device: u32,
    /// The moment; if only a range is known, that of the peak.
    pub moment: u32,
    /// The range on the axis of time, or of events where there are no times.
    pub range: Option<(f64, f64)>,
    pub has_times: bool,
}

/// What opens a rank.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Ways {
    pub rank: Way,
    /// The rank with the median peak of those shown; `None` if there is no other.
    pub median: Option<Way>,
}
