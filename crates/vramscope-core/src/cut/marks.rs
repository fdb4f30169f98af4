//! Which marks of named ranges go along: those of every named range that reaches into the cut.
//!
//! A mark of its beginning stays although it lies before the cut (else nobody would know that it was
//! going on), one of its end only if it was reached: a snapshot taken there could not know it.
//! Marks without a time, or of a trace without times, cannot be placed and are left out.

use super::Piece;
use crate::analysis::annotations::OpenRanges;
use crate::model::{Annotation, NO_TIME, Stage};
use crate::transfer::{Role, Transfer};

/// Takes the marks over that belong to one of the pieces, in the file's order.
pub(super) fn within(transfer: &mut Transfer<'_>, pieces: &[Piece<'_>]) {
    let rows = &transfer.from.annotations.rows;
    let spans: Vec<Span> = pieces.iter().filter_map(Span::of).collect();
    let mut keep = vec![false; rows.len()];
    let mut open = OpenRanges::default();
    for (row, mark) in rows.iter().enumerate() {
        let Some(span) = spans.iter().find(|span| span.is_of(mark)) else {
            continue;
        };
        if mark.time_us == NO_TIME || mark.time_us > span.to_us {
            continue;
        }
        let is_inside = mark.time_us >= span.from_us;
        keep[row] = is_inside;
        match mark.stage {
            Stage::Start => open.start(mark, row),
            Stage::End => {
                if let Some(start) = open.end(mark) {
                    keep[start] |= is_inside;
                }
            }
            Stage::Other(_) => {}
        }
    }
    // In no order, which makes no difference here.
    open.into_rows().for_each(|row| keep[row] = true);
    for (mark, _) in rows.iter().zip(keep).filter(|&(_, keep)| keep) {
        let stage = match mark.stage {
            Stage::Other(word) => Stage::Other(transfer.string(Role::Label, word)),
            stage => stage,
        };
        let name = transfer.string(Role::Label, mark.name);
        let domain = mark.domain;
        let domain = domain.map(|text| transfer.string(Role::Label, text));
        let row = Annotation {
            stage,
            name,
            domain,
            ..*mark
        };
        transfer.to.annotations.rows.push(row);
    }
}

/// The time of one piece.
struct Span {
    device: i32,
    from_us: i64,
    to_us: i64,
}

impl Span {
    /// `None` without times. What the recording does not bound is not bounded here.
    fn of(piece: &Piece<'_>) -> Option<Self> {
        let times = &piece.history.moment_start_us;
        let (from, to) = piece.bounds();
        let at = |moment: u32| times.get(moment as usize).copied();
        let is_last = to == piece.history.event_count;
        Some(Self {
            device: i32::try_from(piece.history.device).ok()?,
            from_us: if from == 0 { i64::MIN } else { at(from)? },
            to_us: if is_last { i64::MAX } else { at(to)? },
        })
    }

    /// Whether a mark is of this device, or of none in particular.
    fn is_of(&self, mark: &Annotation) -> bool {
        mark.device == self.device || mark.device < 0
    }
}
