//! The views that are pictures over the x axis: the strip, below it lanes and marks, then the
//! picture.

use vramscope_protocol::Picture;
use yew::prelude::*;

use super::commands::{Commands, use_commands};
use super::divider::Divider;
use super::flame::FlameView;
use super::hooks::use_plot_area;
use super::icons::{Glyph, Icon};
use super::lanes::{Lanes, use_decorations, use_stack_step};
use super::strip::{Strip, use_minimap};
use super::timeline::Timeline;
use super::view_props::ViewProps;
use super::what_if::use_replay;
use crate::state::choices::{SHARE_PERCENT, SplitChoices};
use crate::state::{Action, Chosen};

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
    let wanted = choices.drawn_replay(look.picture);
    let replayed = use_replay(&session, &look, wanted.clone());
    let is_known = replayed.is_some_and(|of| of.get().is_some_and(|of| of.refusal.is_none()));
    let replay = wanted.filter(|_| is_known);
    let decorations = use_decorations(&session, &look, view.region, area, lines, replay);
    // The strip and the picture below it are equally wide.
    let columns = area.map(|area| area.size_px().0);
    let minimap = use_minimap(&session, look.device, look.axis, columns);
    use_stack_step(&session, &look, view.stack_step, commands.dispatch.clone());
    let split = choices.split;
    let (has_split, height_css) = (
        look.picture == Picture::Timeline,
        area.map(|area| area.box_height_css),
    );
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
            <Strip session={session.clone()} look={look.clone()} minimap={minimap.clone()} {bounds} {capacity_bytes}
                cursor_x={view.cursor_x()} range={view.range} />
            // Their height does not depend on the area: the picture's area is right from the start.
            if let Some(facts) = file.facts() {
                <Lanes session={session.clone()} look={look.clone()} facts={facts.lines.clone()} choices={choices.lanes}
                    region={view.region} area={area.unwrap_or_default()} decorations={decorations.clone()} />
            }
            <Timeline {session} {look} {bounds} {view} {box_mode} {ruler_mode} {minimap} {decorations}
                capacity_bytes={lines.capacity_bytes} />
            if has_split {
                { toggle(split, &commands) }
                if split.flame { { below(props, height_css, &commands) } }
            }
        </section>
    }
}

/// The button that shows the flame graph below the picture.
fn toggle(split: SplitChoices, commands: &Commands) -> Html {
    let flame = !split.flame;
    let onclick = commands.on(Action::Choose(Chosen::Split(SplitChoices {
        flame,
        ..split
    })));
    html! {
        <div class="split-toggle">
            <button type="button" aria-pressed={split.flame.to_string()} {onclick}
                title="The flame graph of what is selected, below the timeline (G)"><Glyph icon={Icon::Flame} />{ "flame" }</button>
        </div>
    }
}

/// The flame graph below the picture, with the edge between them. `height_css` is that of both.
fn below(given: &ViewProps, height_css: Option<f64>, commands: &Commands) -> Html {
    let split = given.choices.split;
    let on_change = commands
        .dispatch
        .reform(move |percent| Action::Choose(Chosen::Split(split.with_percent(percent))));
    let per_px = -100.0 / height_css.unwrap_or(f64::INFINITY);
    html! {
        <div class="below" style={format!("flex-basis:{}%", split.percent)}>
            <Divider label="Height of the flame graph" is_level=true value={split.percent} range={SHARE_PERCENT}
                {per_px} {on_change} />
            <FlameView given={given.clone()} is_below=true />
        </div>
    }
}
