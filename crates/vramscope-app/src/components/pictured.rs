//! The views that are pictures over the x axis: the strip, below it lanes and marks, then the
//! picture.

use yew::prelude::*;

use super::commands::use_commands;
use super::hooks::use_plot_area;
use super::lanes::{Lanes, use_decorations, use_stack_step};
use super::strip::{Strip, use_minimap};
use super::timeline::Timeline;
use super::view_props::ViewProps;
use crate::protocol::Picture;

/// The timeline, the segment timeline or the map.
#[component]
pub(super) fn PicturedView(props: &ViewProps) -> Html {
    let commands = use_commands();
    let node = use_node_ref();
    let area = use_plot_area(&node);
    let ViewProps {
        session,
        file,
        look,
        bounds,
        view,
        choices,
        box_mode,
        ruler_mode,
        ..
    } = props.clone();
    let lines = file
        .facts()
        .map(|facts| choices.lanes.lines(facts, look.picture));
    let lines = lines.unwrap_or_default();
    let decorations = use_decorations(&session, &look, view.region, area, lines);
    // The strip and the picture below it are equally wide.
    let columns = area.map(|area| area.size_px().0);
    let minimap = use_minimap(&session, look.device, look.axis, columns);
    use_stack_step(&session, &look, view.stack_step, commands.dispatch);
    let (class, label) = match look.picture {
        Picture::Timeline => ("timeline", "Timeline"),
        Picture::Segments => ("segments", "Segments"),
        Picture::Map | Picture::Packing => ("map", "Map"),
    };
    let capacity_bytes = file
        .facts()
        .and_then(|facts| choices.lanes.known_capacity(facts));
    html! {
        <section class={classes!("view", class)} aria-label={label} ref={node}>
            <Strip session={session.clone()} look={look.clone()} minimap={minimap.clone()} {bounds} region={view.region}
                {capacity_bytes} cursor_x={view.cursor_x()} range={view.range} />
            if let Some((area, facts)) = area.zip(file.facts()) {
                <Lanes session={session.clone()} look={look.clone()} facts={facts.lines.clone()} choices={choices.lanes}
                    region={view.region} {area} decorations={decorations.clone()} />
            }
            <Timeline {session} {look} {bounds} {view} {box_mode} {ruler_mode} {minimap} {decorations}
                capacity_bytes={lines.capacity_bytes} />
        </section>
    }
}
