//! Labels beside the map: sizes and addresses of lanes, and the pool and stream of their groups.

use vramscope_protocol::views::segments::MapLanesOf;
use yew::prelude::*;

use super::hooks::use_answer;
use crate::canvas::PlotArea;
use crate::engine::Session;
use vramscope_core::model::DeviceIndex;
use vramscope_protocol::Viewport;
use vramscope_view::map::{GroupMark, LaneMark, MapLabel, MapLabels};

#[derive(Properties, PartialEq)]
pub(super) struct MapLabelListProps {
    pub(super) session: Session,
    pub(super) device: DeviceIndex,
    pub(super) area: PlotArea,
    pub(super) region: Viewport,
}

/// The labels of the visible part.
#[component]
pub(super) fn MapLabelList(props: &MapLabelListProps) -> Html {
    let device = props.device;
    let answered = use_answer(&props.session, Some(MapLanesOf { device }));
    let answered = answered.filter(|answered| answered.question.device == device);
    match answered.and_then(|answered| answered.answer) {
        Some(lanes) => {
            let (area, region) = (&props.area, props.region);
            map_labels(&lanes.lanes, &lanes.groups, area, region)
        }
        None => Html::default(),
    }
}

/// The labels of visible lanes and groups.
pub(super) fn map_labels(
    lanes: &[LaneMark],
    groups: &[GroupMark],
    area: &PlotArea,
    region: Viewport,
) -> Html {
    let (left, top) = area.to_css((0.0, 0.0));
    let size = area.size_px();
    let (_, bottom) = area.to_css((0.0, f64::from(size.1)));
    // Laid out in css px, because text has the same size on every screen.
    let viewport = region.resized(1, (bottom - top).round() as u32);
    let labels = MapLabels::of(lanes, groups, &viewport);
    let lane = |label: &MapLabel| {
        let style = format!("width:{}px;--y:{}px", left - 6.0, label.y_px);
        html! { <div class="lane-label" {style} title={label.title.clone()}>{ &label.text }</div> }
    };
    let group = |label: &MapLabel| {
        let style = format!("left:{}px;--y:{}px", left + 4.0, label.y_px);
        html! { <div class="lane-group" {style}>{ &label.text }</div> }
    };
    html! {
        <div class="lane-labels" style={format!("top:{top}px")}>{ for labels.lanes.iter().map(lane) }{ for labels.groups.iter().map(group) }</div>
    }
}
