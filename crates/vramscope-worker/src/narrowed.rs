//! A file narrowed to some of its memory pools: a document of its own, whose allocations and segments the page knows by
//! the numbers of the whole one.

use std::collections::HashMap;

use vramscope_core::analysis::search::filter::Filter;
use vramscope_core::ids::AllocationId;
use vramscope_core::model::DeviceIndex;
use vramscope_protocol::views::allocator::TipOn;
use vramscope_protocol::views::what_if::Found;
use vramscope_protocol::views::{allocator, export, filter, flame, lanes, table};
use vramscope_protocol::{
    Answer, Composition, Extra, HitOn, OutlineOf, Question, SegmentPreview, Thing,
};

use super::document::{Device, Document};
use super::painter::Painter;
use super::views::{self, Caches};

/// A narrowed file, and what is kept to answer questions about it.
pub(super) struct Narrowed {
    pools: String,
    pub(super) document: Document,
    pub(super) painter: Painter,
    views: Caches,
    numbers: HashMap<DeviceIndex, Numbers>,
}

/// The numbers in the whole file, ascending.
struct Numbers {
    allocations: Vec<AllocationId>,
    /// `None` for a piece that the whole file joins with one of another pool.
    pieces: Vec<Option<u32>>,
}

impl Narrowed {
    /// The file within these pools, given as a search; made anew if `kept` is another one. `None` if the search
    /// names no pools.
    pub(super) fn of<'a>(
        whole: &Document,
        pools: &str,
        kept: &'a mut Option<Self>,
    ) -> Option<&'a mut Self> {
        let known = kept.take().filter(|known| known.pools == pools);
        let narrowed = known.or_else(|| Self::new(whole, pools))?;
        Some(kept.insert(narrowed))
    }

    fn new(whole: &Document, pools: &str) -> Option<Self> {
        let pool = Filter::parse(pools).ok()?.pool()?;
        let document = whole.within_pools(|id| pool.matches(id));
        let both = document.devices().zip(whole.devices());
        let numbers = both.map(|(inner, whole)| (inner.index(), Numbers::of(inner, whole)));
        Some(Self {
            pools: pools.to_owned(),
            numbers: numbers.collect(),
            document,
            painter: Painter::default(),
            views: Caches::default(),
        })
    }

    /// Keeps what the planner found within these pools.
    pub(super) fn take(&mut self, found: Found) {
        views::take(found, &self.document, &mut self.views);
    }

    /// The answer to a question, in numbers of the whole file; `None` if there is none within these pools.
    pub(super) fn answer(&mut self, question: &Question) -> Option<(Answer, Extra)> {
        let asked = self.inwards(question)?;
        let (mut answer, extra) =
            views::answer(&asked, &self.document, &mut self.painter, &mut self.views)?;
        self.outwards(question, &mut answer)?;
        Some((answer, extra))
    }

    /// A question in the numbers of the narrowed file; `None` if it is about something outside.
    fn inwards(&self, question: &Question) -> Option<Question> {
        if is_of_whole(question) && !matches!(question, Question::Details(_)) {
            return None;
        }
        let numbers = |device| self.numbers.get(device);
        let optional = |device, id: &mut Option<AllocationId>| {
            *id = id.and_then(|id| numbers(device)?.row(id));
        };
        let mut asked = question.clone();
        match &mut asked {
            Question::Outline(OutlineOf { draw, thing }) => {
                *thing = numbers(&draw.look.device)?.inwards(*thing)?;
            }
            Question::Details(of) => of.allocation = numbers(&of.device)?.row(of.allocation)?,
            Question::Lanes(lanes::Question::Neighbour { device, from, .. })
            | Question::Filter(filter::Question::Next { device, from, .. }) => {
                optional(device, from);
            }
            Question::Table(table::Question::Rows { order, locate, .. }) => {
                optional(&order.device, locate);
            }
            Question::Allocator(
                allocator::Question::Draw(draw) | allocator::Question::Hit { draw, .. },
            ) => optional(&draw.look.device, &mut draw.pinned),
            Question::Flame(flame::Question {
                about,
                wanted: flame::TreeQuestion::Picture { marked, .. },
                ..
            }) => optional(&about.device, marked),
            _ => {}
        }
        Some(asked)
    }

    /// Gives what an answer names the numbers of the whole file; `None` if that does not know it.
    fn outwards(&self, question: &Question, answer: &mut Answer) -> Option<()> {
        let numbers = |device: DeviceIndex| self.numbers.get(&device);
        match (question, answer) {
            (_, Answer::Hit(hit)) => {
                let numbers = numbers(hit.draw.look.device)?;
                hit.on = numbers.outwards(std::mem::replace(&mut hit.on, HitOn::Nothing));
            }
            (Question::Outline(asked), Answer::Outline(outline)) => outline.thing = asked.thing,
            (Question::Details(asked), Answer::Details(details)) => {
                details.known.allocation = asked.allocation;
            }
            (
                Question::Lanes(lanes::Question::Neighbour { device, .. }),
                Answer::Lanes(neighbour),
            ) => {
                if let lanes::Answer::Neighbour(Some(id)) = &mut **neighbour {
                    *id = numbers(*device)?.allocation(*id)?;
                }
            }
            (Question::Filter(filter::Question::Next { device, .. }), Answer::Filter(next)) => {
                if let filter::Answer::Next(Some(next)) = &mut **next {
                    next.allocation = numbers(*device)?.allocation(next.allocation)?;
                }
            }
            (Question::Table(asked), Answer::Table(rows)) => {
                if let table::Answer::Rows(window) = &mut **rows {
                    let numbers = numbers(asked.order().device)?;
                    for row in &mut window.rows {
                        row.allocation = numbers.allocation(row.allocation)?;
                    }
                }
            }
            (
                Question::Allocator(allocator::Question::Hit { draw, .. }),
                Answer::Allocator(tip),
            ) => {
                if let allocator::Answer::Tip(Some(tip)) = &mut **tip {
                    numbers(draw.look.device)?.tip_outwards(&mut tip.on)?;
                }
            }
            _ => {}
        }
        Some(())
    }
}

/// Whether the whole file answers a question although pools are asked about: events and things are what they are,
/// whatever else is left out. An allocation of the pools is told of within them.
pub(super) fn is_of_whole(question: &Question) -> bool {
    matches!(
        question,
        Question::Details(_)
            | Question::Previews(_)
            | Question::Event(_)
            | Question::Segment(_)
            | Question::FileDetails(_)
            | Question::Lanes(lanes::Question::Marker { .. })
            | Question::Allocator(
                allocator::Question::Events { .. } | allocator::Question::Jump { .. }
            )
            | Question::Filter(filter::Question::Pools { .. } | filter::Question::Complete { .. })
            | Question::Export(export::Question::Snapshot { .. } | export::Question::Packed { .. })
    )
}

impl Numbers {
    fn of(inner: Device<'_>, whole: Device<'_>) -> Self {
        let pieces = whole.segments();
        let born = pieces.address.iter().zip(&pieces.born);
        let by_place: HashMap<_, u32> = born.zip(0..).collect();
        let own = inner.segments();
        let places = own.address.iter().zip(&own.born);
        Self {
            allocations: inner.numbered_in(*whole).unwrap_or_default(),
            pieces: places.map(|place| by_place.get(&place).copied()).collect(),
        }
    }

    fn inwards(&self, thing: Thing) -> Option<Thing> {
        match thing {
            Thing::Allocation(id) => Some(Thing::Allocation(self.row(id)?)),
            Thing::Segment(piece) => {
                let row = self.pieces.iter().position(|&of| of == Some(piece))?;
                Some(Thing::Segment(row as u32))
            }
        }
    }

    /// What is under the pointer. Nothing if the whole file does not know it.
    fn outwards(&self, on: HitOn) -> HitOn {
        let known = match on {
            HitOn::One(mut preview) => self.allocation(preview.allocation).map(|id| {
                preview.allocation = id;
                HitOn::One(preview)
            }),
            HitOn::Several(several) => Some(HitOn::Several(self.composition(several))),
            HitOn::Segment(segment) => self.segment(*segment).map(|it| HitOn::Segment(it.into())),
            HitOn::Free {
                address,
                bytes,
                segment,
            } => self.segment(*segment).map(|segment| HitOn::Free {
                address,
                bytes,
                segment: segment.into(),
            }),
            other => Some(other),
        };
        known.unwrap_or(HitOn::Nothing)
    }

    fn composition(&self, several: Composition) -> Composition {
        let ids = several.largest.iter();
        Composition {
            largest: ids.filter_map(|&id| self.allocation(id)).collect(),
            ..several
        }
    }

    fn tip_outwards(&self, on: &mut TipOn) -> Option<()> {
        match on {
            TipOn::Block { preview, .. } => {
                preview.allocation = self.allocation(preview.allocation)?;
            }
            TipOn::Several { composition, .. } => {
                *composition = self.composition(std::mem::take(composition));
            }
            TipOn::Free { .. } => {}
        }
        Some(())
    }

    fn allocation(&self, id: AllocationId) -> Option<AllocationId> {
        self.allocations.get(id.index()).copied()
    }

    /// The number in the narrowed file; `None` if the allocation is not in it.
    fn row(&self, id: AllocationId) -> Option<AllocationId> {
        let row = self.allocations.binary_search(&id).ok()?;
        Some(AllocationId::from_index(row))
    }

    fn segment(&self, preview: SegmentPreview) -> Option<SegmentPreview> {
        let piece = self.pieces.get(preview.piece as usize).copied().flatten()?;
        Some(SegmentPreview { piece, ..preview })
    }
}

#[cfg(test)]
mod tests;
