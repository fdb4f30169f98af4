//! A tab for each open file.

use std::rc::Rc;

use web_sys::HtmlElement;
use yew::prelude::*;

use super::commands::use_commands;
use super::icons::{Glyph, Icon};
use crate::engine::SessionId;
use crate::state::sides::short_name;
use crate::state::{Action, Phase, Tab, sentences};

#[derive(Properties, PartialEq)]
pub(super) struct FileTabsProps {
    pub(super) tabs: Vec<Rc<Tab>>,
    pub(super) current: Option<SessionId>,
    /// Whether the user may open more.
    pub(super) takes_files: bool,
}

/// The row of tabs, and the button that opens more.
#[component]
pub(super) fn FileTabs(props: &FileTabsProps) -> Html {
    let commands = use_commands();
    let count = props.tabs.len();
    let tab = |tab: &Rc<Tab>| {
        let is_current = Some(tab.id) == props.current;
        let short = short_name(tab, &props.tabs);
        html! { <FileTab key={tab.id.0} {short} name={tab.name.clone()} id={tab.id} {is_current} {count} spot={spot(tab)} ooms={tab.ooms()} /> }
    };
    html! {
        <>
            <div class="tabs" role="tablist" aria-label="Open files">{ for props.tabs.iter().map(tab) }</div>
            if props.takes_files {
                <button type="button" class="square" title="Open files (O)" aria-label="Open files"
                    onclick={commands.pick.reform(|_| ())}>
                    <Glyph icon={Icon::Plus} />
                </button>
            }
        </>
    }
}

/// Says that the program of a file, or on a device, ran out of memory.
pub(super) fn oom_badge(ooms: u64) -> Option<Html> {
    let title = format!(
        "Out of memory {}",
        sentences::count_of(ooms, "time", "times")
    );
    (ooms > 0).then(|| html! { <span class="oom" {title}>{ "OOM" }</span> })
}

/// The style class of the dot before a name; `None` for a file that is ready.
fn spot(tab: &Tab) -> Option<&'static str> {
    match tab.phase {
        Phase::Opening(_) => Some("busy"),
        Phase::Failed(_) => Some("failed"),
        Phase::Ready(_) | Phase::Graphs(_) | Phase::Fleet(_) | Phase::Text(_) => None,
    }
}

/// Number of characters at a name's end that are always shown, because names differ there.
const END_CHARACTERS: usize = 16;

/// A start of fewer characters is not worth shortening.
const START_CHARACTERS: usize = 4;

/// A name's start, which is shortened if necessary, and its end.
fn halves(name: &str) -> (&str, &str) {
    let start = name.char_indices().nth(START_CHARACTERS - 1);
    let end = name.char_indices().rev().nth(END_CHARACTERS - 1);
    let end = end.filter(|(at, _)| start.is_some_and(|(least, _)| least < *at));
    name.split_at(end.map_or(0, |(at, _)| at))
}

#[derive(Properties, PartialEq)]
struct FileTabProps {
    id: SessionId,
    name: AttrValue,
    /// What tells the name from those of the other tabs.
    short: AttrValue,
    is_current: bool,
    spot: Option<&'static str>,
    /// How often its program ran out of memory.
    ooms: u64,
    /// The number of tabs.
    count: usize,
}

#[component]
fn FileTab(props: &FileTabProps) -> Html {
    let commands = use_commands();
    let (id, name, is_current) = (props.id, props.name.clone(), props.is_current);
    let onkeydown = {
        let commands = commands.clone();
        Callback::from(move |event: KeyboardEvent| {
            match event.key().as_str() {
                "ArrowLeft" => commands.dispatch.emit(Action::SwitchBy(-1)),
                "ArrowRight" => commands.dispatch.emit(Action::SwitchBy(1)),
                "Delete" => commands.close.emit(id),
                _ => return,
            }
            event.prevent_default();
            event.stop_propagation();
        })
    };
    // Choosing a tab with arrow keys moves the focus to it.
    let node = use_node_ref();
    {
        let node = node.clone();
        // Scrolled into view again when more tabs, or the choices of a file that is now open, leave
        // less space.
        let room = (is_current, props.spot, props.count);
        use_effect_with(room, move |(is_current, ..)| {
            let Some(element) = node.cast::<HtmlElement>().filter(|_| *is_current) else {
                return;
            };
            if let Some(tab) = element.parent_element() {
                tab.scroll_into_view_with_bool(false);
            }
            let focused = gloo::utils::document().active_element();
            if focused
                .is_some_and(|focused| focused.get_attribute("role").as_deref() == Some("tab"))
            {
                let _ = element.focus();
            }
        });
    }
    let (start, end) = halves(&props.short);
    // The halves of a name are one word to those who hear it.
    let label = format!(
        "{}{}",
        props.short,
        if props.ooms > 0 { " OOM" } else { "" }
    );
    let letters = props.short.chars().count();
    let spot = props
        .spot
        .map(|spot| html! { <span class={classes!("spot", spot)} aria-hidden="true" /> });
    html! {
        <div class={classes!("tab", is_current.then_some("current"))} style={format!("--letters:{letters}")}>
            { spot }
            <button type="button" class="name" role="tab" ref={node} aria-selected={is_current.to_string()} aria-keyshortcuts="Delete"
                tabindex={if is_current { "0" } else { "-1" }} title={name.clone()} aria-label={label} {onkeydown}
                onclick={commands.on(Action::Switch(id))}><span class="start">{ start }</span><span class="end">{ end }</span>{ oom_badge(props.ooms) }</button>
            // For the pointer: a list of tabs may hold nothing else, and a tab is closed by its key.
            <button type="button" class="close" title="Close (Delete)" aria-hidden="true" tabindex="-1" onclick={commands.close.reform(move |_| id)}>
                <Glyph icon={Icon::Close} />
            </button>
        </div>
    }
}
