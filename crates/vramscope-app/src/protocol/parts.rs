//! Which part of the module (see [`parts`](crate::parts)) answers a question or shows a view.

use vramscope_view::restacked::Stacking;
use vramscope_view::views::ViewKind;

use crate::parts::Part;

use super::{ColourBy, HitOf, Look, OutlineOf, Picture, Question};

impl Part {
    /// The part that answers a question; `None` if it is always there.
    #[must_use]
    pub fn that_answers(question: &Question) -> Option<Self> {
        match question {
            Question::Draw(draw) => Self::that_draws(&draw.look),
            Question::BandLabels(of) => Self::that_draws(&of.draw.look),
            Question::Reserved(_) => None,
            Question::Hit(HitOf { draw, .. }) | Question::Outline(OutlineOf { draw, .. })
                if is_map(draw.look.picture) =>
            {
                Some(Self::Views)
            }
            Question::Filter(_) => Some(Self::Search),
            Question::Overview(_)
            | Question::Details(_)
            | Question::Event(_)
            | Question::FileDetails(_)
            | Question::Segment(_)
            | Question::Allocator(_)
            | Question::Compare(_)
            | Question::Flame(_)
            | Question::Table(_) => Some(Self::Views),
            Question::WhatIf(_) | Question::Graph(_) => Some(Self::Planning),
            Question::Export(_) => Some(Self::Saving),
            Question::Fleet(_) => Some(Self::Fleet),
            Question::Adopt(_) => Some(Self::Live),
            _ => Some(Self::Whole),
        }
    }

    /// The part that draws a picture; `None` for a timeline as it is shown before anybody chooses anything.
    fn that_draws(look: &Look) -> Option<Self> {
        let is_usual = matches!(
            look.colour_by,
            ColourBy::CallSite | ColourBy::Role | ColourBy::Size
        );
        if is_map(look.picture) {
            return Some(Self::Views);
        }
        let is_first = look.picture == Picture::Timeline
            && is_usual
            && look.stacking == Stacking::default()
            && look.filter.is_none()
            && look.lit.is_none();
        (!is_first).then_some(Self::Whole)
    }

    /// The part that shows a view; `None` if it is always there.
    #[must_use]
    pub fn that_shows(view: ViewKind) -> Option<Self> {
        match view {
            ViewKind::Timeline | ViewKind::Segments => None,
            ViewKind::WhatIf => Some(Self::Planning),
            ViewKind::Overview
            | ViewKind::Allocator
            | ViewKind::Flame
            | ViewKind::Table
            | ViewKind::Compare
            | ViewKind::Facts
            | ViewKind::Map => Some(Self::Views),
        }
    }
}

/// Whether a picture is a map, of memory or of a packing.
pub(crate) fn is_map(picture: Picture) -> bool {
    matches!(picture, Picture::Map | Picture::Packing)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::views::filter::FilterText;
    use crate::protocol::{Bounds, DrawRequest, Viewport};

    #[test]
    fn only_a_first_picture_takes_no_part() {
        let part_of = |look: Look| {
            let viewport = Viewport::fit_all(&Bounds::default(), 8, 8);
            Part::that_answers(&Question::Draw(DrawRequest { look, viewport }))
        };
        assert_eq!(part_of(Look::default()), None);
        for colour_by in [ColourBy::Role, ColourBy::Size] {
            let look = Look {
                colour_by,
                ..Look::default()
            };
            assert_eq!(part_of(look), None);
        }
        let others = [
            Look {
                picture: Picture::Segments,
                ..Look::default()
            },
            Look {
                colour_by: ColourBy::Pool,
                ..Look::default()
            },
            Look {
                filter: FilterText::of("size>0", None, None),
                ..Look::default()
            },
        ];
        for look in others {
            assert_eq!(part_of(look), Some(Part::Whole));
        }
        let map = Look {
            picture: Picture::Map,
            ..Look::default()
        };
        assert_eq!(part_of(map), Some(Part::Views));
    }
}
