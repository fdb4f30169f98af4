//! The comparison as a file.

use vramscope_protocol::views::compare::Question;
use vramscope_view::plot::views::{CompareView, ComparedSide, Format};

use super::Kept;

/// The SVG that [`Question::Picture`] asks for.
pub(super) fn svg(kept: &mut Kept, question: &Question) -> Option<Vec<u8>> {
    let Question::Picture {
        files,
        selections,
        is_one_recording,
        width,
        unit,
        focus,
        sheet,
    } = question
    else {
        return None;
    };
    let focus = kept.node(*focus);
    let sides = [&kept.answer.before, &kept.answer.after];
    let side = |place: usize| {
        let facts = sides[place];
        ComparedSide {
            file: &files[place],
            device_name: &facts.device_name,
            events: u32::try_from(facts.figures.events).unwrap_or(u32::MAX),
            selection: selections[place],
            total: facts.total,
            curves: &facts.curves,
            marks: &facts.marks,
        }
    };
    let view = CompareView {
        sides: [side(0), side(1)],
        is_one_recording: *is_one_recording,
        tree: &kept.comparison.tree,
        width: *width,
        unit: *unit,
        focus,
    };
    view.file(sheet, Format::Svg).ok()
}
