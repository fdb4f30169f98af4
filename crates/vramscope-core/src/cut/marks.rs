//! Selects the marks of named ranges that reach into the cut.
//!
//! The mark of a beginning is kept even if it is before the cut, because the range is still going on. The mark of an
//! end is kept only if it is before the end of the cut: a snapshot taken there could not contain it. Marks without a
//! time, and those of traces without times, cannot be placed and are left out.

use super::Piece;
use crate::analysis::time::annotations::OpenRanges;
use crate::model::{Annotation, NO_TIME, Stage};
use crate::transfer::{Role, Transfer};

/// Copies the marks that belong to one of the pieces, in file order.
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
    // The order of a hash set does not matter here.
    open.into_rows().for_each(|row| keep[row] = true);
    for (mark, _) in rows.iter().zip(keep).filter(|&(_, keep)| keep) {
        let stage = match mark.stage {
            Stage::Other(word) => Stage::Other(transfer.string(Role::Label, word)),
            stage => stage,
        };
        let name = transfer.string(Role::Label, mark.name);
        let texts = [mark.domain, mark.category, mark.payload];
        let [domain, category, payload] =
            texts.map(|text| text.map(|text| transfer.string(Role::Label, text)));
        let row = Annotation {
            stage,
            name,
            domain,
            category,
            payload,
            ..*mark
        };
        transfer.to.annotations.rows.push(row);
    }
}

struct Span {
    device: i32,
    from_us: i64,
    to_us: i64,
}

impl Span {
    /// `None` without times. A side that is open in the recording is unbounded.
    fn of(piece: &Piece<'_>) -> Option<Self> {
        let times = &piece.device.history.moment_start_us;
        let (from, to) = piece.bounds();
        let at = |moment: u32| times.get(moment);
        let is_last = to == piece.device.history.event_count;
        Some(Self {
            device: i32::try_from(piece.device.history.device).ok()?,
            from_us: if from == 0 { i64::MIN } else { at(from)? },
            to_us: if is_last { i64::MAX } else { at(to)? },
        })
    }

    /// Whether a mark belongs to this device, or to no particular one.
    fn is_of(&self, mark: &Annotation) -> bool {
        mark.device == self.device || mark.device < 0
    }
}
