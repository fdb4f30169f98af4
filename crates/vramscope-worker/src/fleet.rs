//! An open fleet, and the answers to [`protocol::views::fleet`](vramscope_protocol::views::fleet).

mod found;
mod tables;
#[cfg(test)]
mod tests;

use std::fmt::Display;
use std::sync::Arc;

use vramscope_core::analysis::compare::changes::SettingChange;
use vramscope_core::fleet::questions::{OddValue, odd_among};
use vramscope_core::fleet::{Fleet, Rank, decode};
use vramscope_core::{ErrorKind, Limits};
use vramscope_protocol::views::fleet::{
    Along, Answer, At, Drawing, Drawn, FleetFile, Frame, Look, Offers, Place, Question, Shown,
    Unit, Way, Ways,
};
use vramscope_protocol::{Extra, Failure};
use vramscope_view::fleet::{Layout, Size, hit, picture_px, pixels, shade};
use vramscope_view::theme::Theme;

use found::Found;

/// Most pixels of a side of a picture: more than any screen has.
const MOST_PX: u32 = 16_384;

/// Number of colours that the legend gets.
const RAMP: u32 = 16;

/// One open fleet.
pub(super) struct Ranks {
    fleet: Fleet,
    offers: Offers,
    /// In what each rank differs from the others of its job and step.
    odd: Vec<Oddness>,
    /// Whether a file of it has several devices, so that their numbers tell something.
    has_devices: bool,
    /// The layout that was asked for last.
    layout: Option<(Look, Layout)>,
    /// The ranks that were asked for last.
    found: Option<Found>,
}

/// In what a rank differs from the rest.
#[derive(Clone, Default)]
struct Oddness {
    /// How much, for sorting.
    score: f64,
    values: Vec<OddValue>,
    settings: Arc<[SettingChange]>,
}

impl Oddness {
    fn is_odd(&self) -> bool {
        !self.values.is_empty() || !self.settings.is_empty()
    }

    /// Of each rank. Only ranks of the same job and step are compared.
    fn of_all(fleet: &Fleet) -> Vec<Self> {
        let mut all = vec![Self::default(); fleet.ranks.len()];
        let mut first = 0;
        // They are contiguous, as ranks are ordered by job and step.
        for cohort in fleet.cohorts() {
            let next = first + cohort.ranks as usize;
            let among: Vec<usize> = (first..next).collect();
            let found = odd_among(fleet, &among);
            for found in found.map_or_else(Vec::new, |odd| odd.ranks) {
                let rank = &mut all[found.rank];
                rank.score = found.oddness();
                (rank.values, rank.settings) = (found.values, found.settings);
            }
            first = next;
        }
        all
    }
}

/// A file that cannot be read from the disk.
pub(super) fn unreadable(error: &dyn Display) -> Failure {
    Failure {
        message: format!("cannot read the file: {error}"),
        advice: "Check that the file still exists and can be read.".to_owned(),
        ..Failure::default()
    }
}

impl Ranks {
    /// Reads a fleet.
    ///
    /// # Errors
    /// If it is damaged or of a newer version.
    pub(super) fn read(bytes: &[u8]) -> Result<Self, Box<Failure>> {
        let fleet = decode(bytes, &Limits::default()).map_err(|error| {
            let advice = match error.kind {
                ErrorKind::NewerFleet(_) => "Open it with a newer vramscope.",
                _ => {
                    "The overview is damaged or was not copied completely. Copy it again, or make it anew from the \
                     snapshots: `vramscope fleet pack`."
                }
            };
            Box::new(Failure {
                message: error.to_string(),
                advice: advice.to_owned(),
                format: "an overview of ranks (.vset)".to_owned(),
                ..Failure::default()
            })
        })?;
        Ok(Self {
            offers: Offers::of(&fleet),
            odd: Oddness::of_all(&fleet),
            has_devices: fleet.has_devices(),
            fleet,
            layout: None,
            found: None,
        })
    }

    /// The facts of the file for the page.
    pub(super) fn opened(&self, file_bytes: u64, read_ms: f64) -> FleetFile {
        FleetFile {
            file_bytes,
            ranks: self.fleet.ranks.len() as u32,
            read_ms,
        }
    }

    /// The answer with its attachment; `None` if there is no such rank.
    pub(super) fn answer(&mut self, question: &Question) -> Option<(Answer, Extra)> {
        let mut extra = Extra::Nothing;
        let answer = match question.clone() {
            Question::Draw(drawing) => {
                let (drawn, pixels) = self.draw(&drawing);
                extra = pixels;
                Answer::Drawn(drawn)
            }
            Question::At { drawing, at_px } => Answer::At(self.at(&drawing, at_px)?),
            Question::Ranks {
                shown,
                first,
                count,
                locate,
            } => {
                self.prepare(&shown);
                Answer::Ranks(self.ranks((first, count), locate)?)
            }
            Question::Sites {
                shown,
                first,
                count,
            } => {
                self.prepare(&shown);
                Answer::Sites(self.sites((first, count))?)
            }
            Question::Ways { shown, rank, at } => Answer::Ways(self.ways(&shown, rank, at)?),
        };
        Some((answer, extra))
    }

    /// Finds and orders the ranks that are shown, unless they are known.
    fn prepare(&mut self, shown: &Shown) {
        if self.found.as_ref().is_none_or(|found| found.of != *shown) {
            self.found = Some(Found::of(&self.fleet, &self.odd, shown));
        }
    }

    /// The ranks that were prepared.
    fn order(&self) -> &[u32] {
        self.found.as_ref().map_or(&[], |found| &found.ranks)
    }

    fn rank(&self, id: u32) -> Option<&Rank> {
        self.fleet.ranks.get(id as usize)
    }

    /// Lays out all ranks, unless they are laid out so.
    fn lay_out(&mut self, look: Look) -> Layout {
        match self.layout.take() {
            Some((known, layout)) if known == look => layout,
            _ => Layout::of(&self.fleet, look),
        }
    }

    fn draw(&mut self, drawing: &Drawing) -> (Drawn, Extra) {
        self.prepare(&drawing.shown);
        let layout = self.lay_out(drawing.look);
        let order = self.order();
        let (size, theme) = (size(drawing, order.len()), Theme::of(drawing.theme));
        let (width_px, height_px) = (size.width_px, size.height_px);
        let name = |row: u32| {
            let rank = order.get(row as usize).and_then(|&rank| self.rank(rank));
            rank.map_or_else(String::new, |rank| rank.place.rank.to_string())
        };
        let room = (height_px, drawing.pixel_ratio);
        let level = |part: u32| shade(&theme, (part * 255 / (RAMP - 1)) as u8);
        let blank = order.iter().filter(|&&rank| layout.is_blank(rank));
        let drawn = Drawn {
            frame: Frame::of(&layout, order.len() as u32, room, name),
            look: layout.look,
            offers: self.offers,
            highest_bytes: layout.highest_bytes,
            ramp: (0..RAMP).map(level).collect(),
            blank: blank.count() as u32,
            start_us: (layout.look.along == Along::Clock).then_some(layout.start),
        };
        let pixels = Extra::Pixels {
            width_px,
            height_px,
            rgba: pixels(&layout, order, size, &theme),
        };
        self.layout = Some((drawing.look, layout));
        (drawn, pixels)
    }

    fn at(&mut self, drawing: &Drawing, at_px: (u32, u32)) -> Option<At> {
        self.prepare(&drawing.shown);
        let layout = self.lay_out(drawing.look);
        let order = self.order();
        let hit = hit(&layout, order, size(drawing, order.len()), at_px);
        let (unit, look) = (layout.unit, layout.look);
        let first_step = layout.start.unsigned_abs();
        self.layout = Some((drawing.look, layout));
        let hit = hit?;
        let mark = hit.mark;
        Some(At {
            row: hit.row as u32,
            rank: self.line(*self.order().get(hit.row)?)?,
            place: Place {
                at: mark.map_or(hit.at, |(_, at, _)| at),
                moment: mark.map(|(_, _, moment)| moment),
            },
            look,
            unit,
            first_step: if unit == Unit::Steps { first_step } else { 0 },
            bytes: hit.bytes,
            mark: mark.map(|(kind, _, _)| kind),
        })
    }

    fn ways(&mut self, shown: &Shown, id: u32, at: Option<(Look, Place)>) -> Option<Ways> {
        self.prepare(shown);
        let mut way = way(self.rank(id)?);
        if let Some((look, place)) = at {
            let layout = self.lay_out(look);
            let range = layout.own_range(id, place.at);
            self.layout = Some((look, layout));
            way.range = range
                .filter(|_| place.moment.is_none())
                .map(|(from, to)| (from as f64, to as f64));
            way.moment = place.moment.unwrap_or(way.moment);
        }
        let found = self.found.as_ref();
        let median = found.and_then(|found| found.median(&self.fleet, self.rank(id)?));
        let median = median.filter(|&median| median != id);
        Some(Ways {
            rank: way,
            median: median.and_then(|median| self.rank(median).map(self::way)),
        })
    }
}

/// The size of a picture of so many rows.
fn size(drawing: &Drawing, rows: usize) -> Size {
    let room_px = drawing.size_px.1.clamp(1, MOST_PX);
    Size {
        width_px: drawing.size_px.0.clamp(1, MOST_PX),
        height_px: picture_px(rows as u32, room_px, drawing.pixel_ratio),
        // The cast saturates.
        scale: (drawing.pixel_ratio.round() as u32).clamp(1, 8),
    }
}

fn way(rank: &Rank) -> Way {
    let path = &rank.source.path;
    let name = path.rsplit(['/', '\\']).next().unwrap_or(path);
    Way {
        number: rank.place.rank,
        path: path.clone(),
        name: name.to_owned(),
        file_bytes: rank.source.bytes,
        device: rank.device,
        moment: rank.peak_moment,
        range: None,
        has_times: rank.curve.start_us.is_some(),
    }
}
