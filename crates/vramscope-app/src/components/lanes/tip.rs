//! The tooltip of lanes and marks.

use vramscope_protocol::views::lanes::{Answer, Question};
use yew::prelude::*;

use super::SharedDecorations;
use crate::components::hooks::use_answer;
use crate::engine::Session;
use crate::state::lane_words;
use vramscope_core::model::DeviceIndex;
use vramscope_view::header::Target;

#[derive(Properties, PartialEq)]
pub(super) struct TipProps {
    pub(super) session: Session,
    pub(super) device: DeviceIndex,
    pub(super) is_time: bool,
    /// The pointer's position, CSS px of the box.
    pub(super) at: (f64, f64),
    /// Width of the box, CSS px.
    pub(super) width_css: f64,
    pub(super) target: Target,
    pub(super) decorations: SharedDecorations,
}

/// The tooltip: name, duration, effect on memory, and the action of a click.
#[component]
pub(super) fn Tip(props: &TipProps) -> Html {
    let question = question(props);
    let answered = use_answer(&props.session, question.clone());
    // The latest answer may be about an item that the pointer has left.
    let answered = answered.filter(|answered| Some(&answered.question) == question.as_ref());
    let answer = answered.and_then(|answered| answered.answer);
    let Some((heading, mut lines, hint)) = words(props) else {
        return Html::default();
    };
    match answer.as_deref() {
        Some(Answer::Totals(totals)) => lines.extend(lane_words::totals(totals)),
        Some(Answer::Marker { marker, pool }) => {
            lines.extend(lane_words::marker(marker, pool.as_deref()));
        }
        _ => {}
    }
    let (x, y) = props.at;
    let across = if x > props.width_css / 2.0 {
        format!("right:{}px", props.width_css - x + 10.0)
    } else {
        format!("left:{}px", x + 10.0)
    };
    html! {
        <div class="tooltip" role="tooltip" style={format!("{across};top:{}px", y + 18.0)}>
            <p><strong>{ heading }</strong></p>
            { for lines.into_iter().map(|line| html! { <p>{ line }</p> }) }
            <p class="muted">{ hint }</p>
        </div>
    }
}

fn question(props: &TipProps) -> Option<Question> {
    let device = props.device;
    match props.target {
        Target::Item(place) => {
            let lane = props.decorations.get()?.lanes.get(place.lane)?;
            let item = lane.rows.get(place.row)?.get(place.item)?;
            let moments = item.moments;
            Some(Question::Totals { device, moments })
        }
        Target::Mark(place) => {
            let mark = props
                .decorations
                .get()?
                .marks
                .get(place)
                .filter(|mark| mark.count == 1)?;
            let moment = mark.moment;
            Some(Question::Marker { device, moment })
        }
    }
}

fn words(props: &TipProps) -> Option<(String, Vec<String>, &'static str)> {
    match props.target {
        Target::Item(place) => {
            let lane = props.decorations.get()?.lanes.get(place.lane)?;
            let item = lane.rows.get(place.row)?.get(place.item)?;
            let length = lane_words::length(item, props.is_time);
            let about = Some(item.about.clone()).filter(|about| !about.is_empty());
            Some((
                lane_words::item(item),
                about.into_iter().chain([length]).collect(),
                "Click to show it, Alt-click to select it",
            ))
        }
        Target::Mark(place) => {
            let mark = props.decorations.get()?.marks.get(place)?;
            let hint = if mark.count == 1 {
                "Click to go there"
            } else {
                "Click to zoom in"
            };
            Some((lane_words::mark(mark), Vec::new(), hint))
        }
    }
}
