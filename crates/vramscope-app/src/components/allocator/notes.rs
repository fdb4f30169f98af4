//! Notes above the picture about blocks that do not fit into it, so that nothing is left out
//! silently.

use vramscope_core::analysis::memory::allocator_state::{FinalCheck, Misfits};
use vramscope_view::display;
use yew::prelude::*;

use crate::state::sentences::{allocations, count_of};

#[derive(Properties, PartialEq)]
pub(super) struct NotesProps {
    pub(super) misfits: Misfits,
    pub(super) check: FinalCheck,
    /// Whether any segment is mapped at this moment.
    pub(super) has_segments: bool,
}

/// The notes; usually none.
#[component]
pub(super) fn Notes(props: &NotesProps) -> Html {
    let texts = notes(props);
    html! { { for texts.into_iter().map(|text| html! { <p class="note-line">{ text }</p> }) } }
}

fn notes(props: &NotesProps) -> Vec<String> {
    let Misfits {
        outside,
        outside_bytes,
        cut_bytes,
    } = props.misfits;
    let mut notes = Vec::new();
    if outside > 0 {
        let what = allocations(outside, outside_bytes);
        notes.push(if props.has_segments {
            format!("Not shown: {what} outside of every segment that is known at this moment.")
        } else {
            format!("The file says of no segment at this moment, so that {what} can not be placed.")
        });
    }
    if cut_bytes > 0 {
        notes.push(format!(
            "{} of allocations overlap with others or with the end of their segment; the part is not shown.",
            display::bytes(cut_bytes)
        ));
    }
    let check = &props.check;
    let segments = check.segments_missing.max(check.segments_extra);
    let blocks = check.blocks_missing.max(check.blocks_extra);
    if segments + blocks > 0 {
        notes.push(format!(
            "The events do not lead to the state that the file lists at its end: {} and {} differ. Events between \
             copying the trace and walking the segments cause a few; many mean that the file is damaged.",
            count_of(segments, "segment", "segments"),
            count_of(blocks, "block", "blocks"),
        ));
    }
    notes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_wrong_is_said() {
        let sound = NotesProps {
            misfits: Misfits::default(),
            check: FinalCheck::default(),
            has_segments: true,
        };
        assert_eq!(notes(&sound), [""; 0]);
        let outside = NotesProps {
            misfits: Misfits {
                outside: 2,
                outside_bytes: 2048,
                cut_bytes: 0,
            },
            ..sound
        };
        assert!(notes(&outside)[0].starts_with("Not shown: 2 allocations"));
    }
}
