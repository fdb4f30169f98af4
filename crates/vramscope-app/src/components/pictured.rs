//! The views that are pictures over the x axis: the strip, then the picture.

use yew::prelude::*;

use super::strip::Strip;
use super::timeline::Timeline;
use super::view_props::ViewProps;
use crate::protocol::Picture;

/// The timeline, the segment timeline or the map.
#[component]
pub(super) fn PicturedView(props: &ViewProps) -> Html {
    let ViewProps {
        session,
        look,
        bounds,
        view,
        box_mode,
        ..
    } = props.clone();
    let (class, label) = match look.picture {
        Picture::Timeline => ("timeline", "Timeline"),
        Picture::Segments => ("segments", "Segments"),
        Picture::Map => ("map", "Map"),
    };
    html! {
        <section class={classes!("view", class)} aria-label={label}>
            <Strip session={session.clone()} {look} {bounds} region={view.region} overview={view.overview.clone()} />
            <Timeline {session} {look} {bounds} {view} {box_mode} />
        </section>
    }
}
