//! A stack, innermost frame first. Frames that are not the user's are folded.

use yew::prelude::*;

use crate::components::copy_button::CopyButton;
use crate::components::source_link::{EditorButton, SourceLink};
use crate::state::sentences;
use crate::state::stacks::{self, StackRow};
use vramscope_core::analysis::code::frames::FrameClass;
use vramscope_core::analysis::report::details::{FrameDetails, FxDetails};

#[derive(Properties, PartialEq)]
pub(super) struct StackProps {
    pub(super) title: AttrValue,
    /// Innermost frame first; empty if no stack was recorded.
    pub(super) frames: Vec<FrameDetails>,
    /// The sentence in place of a missing stack.
    #[prop_or(sentences::NO_STACK)]
    pub(super) nothing: &'static str,
}

/// The stack with its title and buttons.
#[component]
pub(super) fn Stack(props: &StackProps) -> Html {
    let shows_all = use_state_eq(|| false);
    // The first frames of the folds that were opened.
    let opened = use_state_eq(Vec::<usize>::new);
    let frames = &props.frames;
    // The first of the user's frames is the call site.
    let site = frames.iter().position(stacks::is_user);
    let toggle = {
        let shows_all = shows_all.clone();
        let opened = opened.clone();
        Callback::from(move |_: MouseEvent| {
            shows_all.set(!*shows_all);
            opened.set(Vec::new());
        })
    };
    let foldable = stacks::foldable(frames);
    let word = if *shows_all {
        "Only your code".to_owned()
    } else {
        format!(
            "Show all {}",
            sentences::count_of(frames.len() as u64, "frame", "frames")
        )
    };
    let shown = |number: usize| frame(&frames[number], site == Some(number));
    let row = |row: StackRow| match row {
        StackRow::Frame(number) => shown(number),
        StackRow::Folded { first, count } if opened.contains(&first) => {
            html! { <>{ for (first..first + count).map(shown) }</> }
        }
        StackRow::Folded { first, count } => {
            let open = {
                let opened = opened.clone();
                move |_: MouseEvent| opened.set([&opened[..], &[first]].concat())
            };
            html! {
                <li class="folded"><button type="button" onclick={open} title="Show these frames">
                    { sentences::count_of(count as u64, "library frame", "library frames") }
                </button></li>
            }
        }
    };
    html! {
        <section class="stack">
            <div class="row">
                <h3 class="grow">{ props.title.clone() }</h3>
                if foldable > 0 {
                    <button type="button" class="plain" aria-expanded={shows_all.to_string()} onclick={toggle.clone()}>{ word }</button>
                }
                if !frames.is_empty() { <EditorButton /> }
                if !frames.is_empty() { <CopyButton text={stacks::text(frames)} what="the stack" /> }
            </div>
            if frames.is_empty() {
                <p class="muted">{ props.nothing }</p>
            } else {
                <ol>{ for stacks::rows(frames, *shows_all).into_iter().map(row) }</ol>
            }
        </section>
    }
}

fn frame(frame: &FrameDetails, is_site: bool) -> Html {
    let place = stacks::place(frame);
    let (folder, file) = stacks::split_path(&place);
    let class = classes!(
        (frame.class == FrameClass::Runtime).then_some("runtime"),
        stacks::is_user(frame).then_some("user"),
        is_site.then_some("site")
    );
    html! {
        <li {class}>
            <span class="function" title={frame.function.clone()}>{ stacks::function(frame) }</span>
            if !place.is_empty() {
                <SourceLink class="place" file={frame.file.clone()} line={frame.line}>
                    <span class="muted"><bdi>{ folder }</bdi></span><span>{ file }</span>
                </SourceLink>
            }
            { frame.fx.as_ref().map(fx) }
        </li>
    }
}

fn fx(fx: &FxDetails) -> Html {
    html! {
        <div class="fx">
            <p class="muted">{ sentences::fx_node(fx) }</p>
            if !fx.original_trace.is_empty() { <pre>{ &fx.original_trace }</pre> }
        </div>
    }
}
