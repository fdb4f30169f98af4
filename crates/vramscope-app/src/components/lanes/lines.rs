//! Lines over a picture: reserved memory, capacity, private pools and rulers.

use vramscope_protocol::Look;
use web_sys::HtmlCanvasElement;
use yew::prelude::*;

use super::SharedDecorations;
use crate::canvas::{PlotArea, draw_scene};
use crate::components::commands::use_commands;
use crate::components::hooks::use_seen;
use crate::state::gesture::{DragKind, Point};
use vramscope_view::lines::Lines as LinesOver;
use vramscope_view::ruler::Ruler;

/// The most rulers at once; the oldest is removed first.
const MOST_RULERS: usize = 4;

#[derive(Properties, PartialEq)]
pub(in crate::components) struct LinesProps {
    pub(in crate::components) look: Look,
    /// Scale of the picture's heights, relative to the visible part.
    pub(in crate::components) y_scale: f64,
    pub(in crate::components) area: PlotArea,
    /// Decorations of the visible part, or of an earlier one until its own arrive.
    pub(in crate::components) decorations: Option<SharedDecorations>,
    pub(in crate::components) capacity_bytes: Option<u64>,
    /// Whether drags measure. Rulers disappear when this ends.
    pub(in crate::components) ruler_mode: bool,
    /// The drag in progress.
    pub(in crate::components) draft: Option<(DragKind, Point, Point)>,
}

/// A canvas over the picture.
#[component]
pub(in crate::components) fn Lines(props: &LinesProps) -> Html {
    let node = use_node_ref();
    let rulers = use_rulers(props);
    let wanted = (
        (props.decorations.clone(), props.capacity_bytes, rulers),
        (props.look.axis, props.look.theme, props.y_scale, props.area),
    );
    let canvas = node.clone();
    use_seen(
        wanted,
        move |((decorations, capacity_bytes, rulers), (axis, theme, y_scale, area)), seen| {
            let (width_px, height_px) = area.size_px();
            if let Some(canvas) = canvas.cast::<HtmlCanvasElement>() {
                let lines = LinesOver {
                    decorations: decorations.as_ref().and_then(SharedDecorations::get),
                    capacity_bytes: *capacity_bytes,
                    rulers,
                    view: (seen.viewport.stretched(*y_scale)).resized(width_px, height_px),
                    unit: *axis,
                    has_failures: false,
                };
                draw_scene(&canvas, area, *theme, |scene, style| {
                    lines.draw(scene, &area.picture(), style);
                });
            }
        },
    );
    html! { <canvas ref={node} class="lines" /> }
}

/// The rulers drawn in ruler mode; last, the one being drawn.
#[hook]
fn use_rulers(props: &LinesProps) -> Vec<Ruler> {
    let kept = use_state_eq(Vec::<Ruler>::new);
    let drafted = use_mut_ref(|| None::<Ruler>);
    let seen = use_commands().camera.seen();
    let draft = props.draft.filter(|(kind, ..)| *kind == DragKind::Ruler);
    let draft = draft.zip(seen).map(|((_, from, to), seen)| {
        let (width_px, height_px) = props.area.size_px();
        let viewport = seen.stretched(props.y_scale).resized(width_px, height_px);
        Ruler::between(&viewport, props.area.to_px(from), props.area.to_px(to))
    });
    {
        let (kept, drafted) = (kept.clone(), drafted.clone());
        use_effect_with((draft, props.ruler_mode), move |(draft, ruler_mode)| {
            let finished = drafted.replace(*draft).filter(|_| draft.is_none());
            if !ruler_mode {
                kept.set(Vec::new());
            } else if let Some(ruler) = finished {
                let mut rulers = (*kept).clone();
                if rulers.len() == MOST_RULERS {
                    rulers.remove(0);
                }
                rulers.push(ruler);
                kept.set(rulers);
            }
        });
    }
    kept.iter().copied().chain(draft).collect()
}
