//! A file narrowed to some of its memory pools: a document of its own, whose allocations and segments the page knows by
//! the numbers of the whole one.

use std::collections::HashMap;

use vramscope_core::analysis::search::filter::Filter;
use vramscope_core::ids::AllocationId;
use vramscope_core::model::DeviceIndex;

use super::document::{Device, Document};
use super::painter::Painter;
use super::views::{self, Caches};
use crate::protocol::{
    Answer, Composition, Extra, HitOn, OutlineOf, Question, SegmentPreview, Thing,
};

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

    /// The answer to a question, in numbers of the whole file.
    pub(super) fn answer(&mut self, question: &Question) -> Option<(Answer, Extra)> {
        let asked = self.inwards(question)?;
        let (mut answer, extra) =
            views::answer(&asked, &self.document, &mut self.painter, &mut self.views)?;
        match &mut answer {
            Answer::Hit(hit) => {
                let numbers = self.numbers.get(&hit.draw.look.device)?;
                hit.on = numbers.outwards(std::mem::replace(&mut hit.on, HitOn::Nothing));
            }
            Answer::Outline(outline) => {
                if let Question::Outline(asked) = question {
                    outline.thing = asked.thing;
                }
            }
            _ => {}
        }
        Some((answer, extra))
    }

    /// A question in the numbers of the narrowed file.
    fn inwards(&self, question: &Question) -> Option<Question> {
        let Question::Outline(OutlineOf { draw, thing }) = question else {
            return Some(question.clone());
        };
        let numbers = self.numbers.get(&draw.look.device)?;
        Some(Question::Outline(OutlineOf {
            draw: draw.clone(),
            thing: numbers.inwards(*thing)?,
        }))
    }
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
            Thing::Allocation(id) => {
                let row = self.allocations.iter().position(|&of| of == id)?;
                Some(Thing::Allocation(AllocationId::from_index(row)))
            }
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
            HitOn::Several(several) => Some(HitOn::Several(Composition {
                largest: several
                    .largest
                    .iter()
                    .filter_map(|&id| self.allocation(id))
                    .collect(),
                ..several
            })),
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

    fn allocation(&self, id: AllocationId) -> Option<AllocationId> {
        self.allocations.get(id.index()).copied()
    }

    fn segment(&self, preview: SegmentPreview) -> Option<SegmentPreview> {
        let piece = self.pieces.get(preview.piece as usize).copied().flatten()?;
        Some(SegmentPreview { piece, ..preview })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::views::overview::OverviewOf;
    use crate::protocol::{DrawRequest, HitOf, LegendOf, Look, Picture, Viewport};
    use vramscope_core::analysis::time::selection::Selection;
    use vramscope_core::model::PoolId;

    const FILE: &[u8] = include_bytes!("../../../../tests/fixtures/synth/scenario-pools.pickle");

    fn document() -> Document {
        Document::new(vramscope_core::decode(FILE).unwrap())
    }

    /// The pool with the most allocations but for the default one, as a search.
    fn private(document: &Document) -> (PoolId, String) {
        let device = document.devices().next().unwrap();
        let private = device.pool_of().iter().flatten().find(|pool| pool.1 != 0);
        let pool = *private.unwrap();
        (pool, format!("pool:{},{}", pool.0, pool.1))
    }

    fn ask(kept: &mut Option<Narrowed>, whole: &Document, pool: &str, of: &Question) -> Answer {
        let narrowed = Narrowed::of(whole, pool, kept).unwrap();
        narrowed.answer(of).unwrap().0
    }

    #[test]
    fn figures_are_of_the_pool() {
        let whole = document();
        let (_, pool) = private(&whole);
        let device = whole.devices().next().unwrap();
        let of = Question::Overview(OverviewOf {
            device: device.index(),
        });
        let mut kept = None;
        let Answer::Overview(found) = ask(&mut kept, &whole, &pool, &of) else {
            panic!()
        };
        assert!((1..device.peak_bytes()).contains(&found.peak.active_bytes));
        let listed = vramscope_core::analysis::report::pool_lines::pool_lines(*device);
        let line = listed.lines.iter().find(|line| line.filter == pool);
        assert_eq!(
            found
                .bars()
                .iter()
                .map(|bar| bar.at.gap.reserved_bytes)
                .max(),
            line.map(|line| line.reserved_bytes)
        );
        let legend = |selection| {
            Question::Legend(LegendOf {
                device: device.index(),
                picture: Picture::Timeline,
                colour_by: crate::protocol::ColourBy::CallSite,
                theme: crate::protocol::ThemeName::Light,
                selection,
                entries: 9,
            })
        };
        let at_peak = Some(Selection::LiveAt(device.history.peak_moment));
        let Answer::Legend(entries) = ask(&mut kept, &whole, &pool, &legend(at_peak)) else {
            panic!()
        };
        let sum: u64 = entries.iter().map(|entry| entry.bytes).sum();
        assert_eq!(Some(sum), line.map(|line| line.peak_bytes));
        assert!(Narrowed::of(&whole, "size>1", &mut kept).is_none());
    }

    #[test]
    fn what_is_hit_has_the_numbers_of_the_whole_file() {
        let whole = document();
        let (id, pool) = private(&whole);
        let device = whole.devices().next().unwrap();
        let (width_px, height_px) = (64, 32);
        let mut kept = None;
        let narrowed = Narrowed::of(&whole, &pool, &mut kept).unwrap();
        let bounds = narrowed.document.device(device.index()).unwrap();
        let draw = DrawRequest {
            look: Look {
                device: device.index(),
                ..Look::default()
            },
            viewport: Viewport::fit_all(&bounds.bounds(Default::default()), width_px, height_px),
        };
        let mut hits = 0;
        for x in 0..width_px {
            for y in 0..height_px {
                let of = Question::Hit(HitOf {
                    draw: draw.clone(),
                    at_px: (f64::from(x), f64::from(y)),
                });
                let Some((Answer::Hit(hit), _)) = narrowed.answer(&of) else {
                    continue;
                };
                let HitOn::One(preview) = hit.on else {
                    continue;
                };
                assert_eq!(device.pool_of()[preview.allocation.index()], Some(id));
                let bytes = device.history.allocations.bytes[preview.allocation.index()];
                assert_eq!(preview.brief.requested_bytes, bytes);
                let of = OutlineOf {
                    draw: draw.clone(),
                    thing: Thing::Allocation(preview.allocation),
                };
                let outlined = narrowed.answer(&Question::Outline(of.clone()));
                let Some((Answer::Outline(outline), _)) = outlined else {
                    panic!()
                };
                assert_eq!(outline.thing, of.thing);
                assert!(!outline.points_px.is_empty());
                hits += 1;
            }
        }
        assert!(hits > 10);
    }
}
