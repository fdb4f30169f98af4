//! The meaning of the colours, with the sums of what is selected.

use vramscope_core::analysis::time::selection::Selection;
use vramscope_protocol::{LegendEntry, LegendOf, Look, Picture};
use vramscope_view::groups::name_of_segments;
use yew::prelude::*;

use crate::components::hooks::use_answer;
use crate::components::legend::LegendList;
use crate::components::site_label::site_label;
use crate::engine::Session;
use crate::state::selected::Places;
use crate::state::{Shared, sentences};

/// The most entries; more than fit on a screen would not be read.
const ENTRIES: u32 = 40;

#[derive(Properties, PartialEq)]
pub(super) struct LegendProps {
    pub(super) session: Session,
    pub(super) look: Look,
    pub(super) places: Places,
    pub(super) search: AttrValue,
}

/// The legend of the shown picture, and what it is of. It does not depend on the axis, and on no search but for a memory
/// pool. After a change of the selection the last one stays until the next arrives.
#[hook]
fn use_legend(props: &LegendProps) -> Option<(LegendOf, Shared<Vec<LegendEntry>>)> {
    let (look, places) = (&props.look, props.places);
    let question = LegendOf {
        device: look.device,
        picture: look.picture,
        colour_by: look.colour_by,
        theme: look.theme,
        selection: places.chosen().or_else(|| {
            let of_segments = look.picture == Picture::Segments;
            (!of_segments).then_some(Selection::LiveAt(places.peak))
        }),
        entries: ENTRIES,
    };
    let answered = use_answer(&props.session, Some(question.clone()));
    let answered = answered?;
    let of = answered.question;
    let is_current = LegendOf {
        selection: question.selection,
        ..of.clone()
    } == question;
    Some((of, answered.answer.filter(|_| is_current)?))
}

/// The most entries of a line.
const IN_LINE: usize = 16;

/// The colours alone, in a line, where there is no room for more.
#[component]
pub(super) fn LegendLine(props: &LegendProps) -> Html {
    let legend = use_legend(props);
    let entry = |entry: &LegendEntry| {
        let [r, g, b] = entry.rgb;
        html! {
            <li title={entry.label.clone()}>
                <span class="swatch" style={format!("background:rgb({r},{g},{b})")} aria-hidden="true" />
                { site_label(&entry.label) }
            </li>
        }
    };
    let entries = legend.iter().flat_map(|(_, legend)| legend.iter());
    html! { <ul class="legend-line" aria-label="Colours">{ for entries.take(IN_LINE).map(entry) }</ul> }
}

/// The legend under a title that says what it is of.
#[component]
pub(super) fn Legend(props: &LegendProps) -> Html {
    let places = props.places;
    let Some((of, legend)) = use_legend(props) else {
        return Html::default();
    };
    let is_of_segments = of.picture == Picture::Segments;
    let what = match (is_of_segments, of.selection) {
        (true, None) => places.words_of_segments(Selection::LiveAt(places.peak)),
        (true, Some(selection)) => places.words_of_segments(selection),
        (false, selection) => places.words(selection.unwrap_or(Selection::LiveAt(places.peak))),
    };
    let by = if is_of_segments {
        name_of_segments(of.colour_by)
    } else {
        of.colour_by.name()
    };
    let title = format!("{}, by {by}", sentences::capital(&what));
    let is_map = of.picture == Picture::Map;
    html! {
        <>
            <LegendList {title} {is_of_segments} {legend} search={props.search.clone()} />
            if is_map { { free_ground() } }
        </>
    }
}

/// What lies between the allocations of the map.
fn free_ground() -> Html {
    html! {
        <ul class="legend ground">
            <li><span class="swatch free" aria-hidden="true" />{ "free, in a segment" }</li>
            <li><span class="swatch" aria-hidden="true" />{ "no segment: not held from the device" }</li>
        </ul>
    }
}
