//! Links from frames to their source, and the setting for them.

use std::rc::Rc;

use serde::{Deserialize, Serialize};
use vramscope_view::editor::{EditorLinks, PRESETS};
use web_sys::{HtmlInputElement, HtmlSelectElement, HtmlTextAreaElement};
use yew::prelude::*;

use super::icons::{Glyph, Icon};
use crate::browser::kept;

/// The key of the setting in local storage.
const KEPT_AS: &str = "vramscope.editor";

const SETTING_ID: &str = "editor-setting";

/// The setting as the user typed it.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct EditorSetting {
    /// The pattern; empty for no links.
    pub(super) pattern: String,
    /// Swaps of folders, one per line.
    pub(super) swaps: String,
}

/// The setting and its links, as a context for all components.
#[derive(Clone, PartialEq)]
pub(super) struct Editor {
    setting: Rc<EditorSetting>,
    links: Option<Rc<EditorLinks>>,
    set: Callback<EditorSetting>,
}

/// Loads the setting; the root component provides it to all others.
#[hook]
pub(super) fn use_editor_setting() -> Editor {
    let setting = use_state_eq(|| Rc::new(kept::get::<EditorSetting>(KEPT_AS).unwrap_or_default()));
    let links = use_memo((*setting).clone(), |setting| {
        EditorLinks::parse(&setting.pattern, &setting.swaps)
            .ok()
            .map(Rc::new)
    });
    let set = {
        let setter = setting.setter();
        use_callback((), move |setting: EditorSetting, ()| {
            kept::set(KEPT_AS, &setting);
            setter.set(Rc::new(setting));
        })
    };
    Editor {
        setting: (*setting).clone(),
        links: (*links).clone(),
        set,
    }
}

#[derive(Properties, PartialEq)]
pub(super) struct SourceLinkProps {
    /// The file name as in the snapshot.
    pub(super) file: AttrValue,
    /// The line, from 1; 0 if unknown.
    pub(super) line: u32,
    #[prop_or_default]
    pub(super) class: Classes,
    /// The content of the link.
    pub(super) children: Html,
}

/// A position in a source file: a link if the user has set a pattern, else it offers to set one.
#[component]
pub(super) fn SourceLink(props: &SourceLinkProps) -> Html {
    let editor = use_context::<Editor>();
    let links = editor.and_then(|editor| editor.links);
    let class = props.class.clone();
    let place = format!("{}:{}", props.file, props.line);
    match links
        .as_ref()
        .and_then(|links| Some((links.link(&props.file, props.line)?, links.is_web())))
    {
        Some((href, is_web)) => {
            let target = is_web.then_some("_blank");
            html! { <a {class} {href} {target} rel="noopener noreferrer" title={format!("Open {place}")}>{ props.children.clone() }</a> }
        }
        // C++ frames without debug information name no line.
        None if props.line == 0 => {
            html! { <span {class} title={place}>{ props.children.clone() }</span> }
        }
        None => html! {
            <button type="button" class={classes!("bare", class)} popovertarget={SETTING_ID}
                title={format!("{place}\nClick to choose the editor or repository that opens it")}>{ props.children.clone() }</button>
        },
    }
}

/// A button that opens the setting.
#[component]
pub(super) fn EditorButton() -> Html {
    let Some(editor) = use_context::<Editor>() else {
        return Html::default();
    };
    let title = if editor.links.is_some() {
        "Where frames open"
    } else {
        "Open frames in your editor or repository"
    };
    html! {
        <>
            <button type="button" class="copy" popovertarget={SETTING_ID} {title} aria-label={title}><Glyph icon={Icon::Edit} /></button>
            <div id={SETTING_ID} popover="auto" class="popover editor" onkeydown={Callback::from(keep_keys)}>
                <Setting {editor} />
            </div>
        </>
    }
}

/// Keeps keys pressed in the setting from the page's shortcuts.
fn keep_keys(event: KeyboardEvent) {
    event.stop_propagation();
}

#[derive(Properties, PartialEq)]
struct SettingProps {
    editor: Editor,
}

#[component]
fn Setting(props: &SettingProps) -> Html {
    let Editor { setting, set, .. } = &props.editor;
    let change = |edit: fn(&mut EditorSetting, String)| {
        let setting = setting.clone();
        set.reform(move |text: String| {
            let mut changed = (*setting).clone();
            edit(&mut changed, text);
            changed
        })
    };
    let on_pattern = change(|setting, text| setting.pattern = text).reform(|event: InputEvent| {
        event
            .target_dyn_into::<HtmlInputElement>()
            .map(|input| input.value())
            .unwrap_or_default()
    });
    let on_swaps = change(|setting, text| setting.swaps = text).reform(|event: InputEvent| {
        event
            .target_dyn_into::<HtmlTextAreaElement>()
            .map(|input| input.value())
            .unwrap_or_default()
    });
    let on_preset = change(|setting, text| setting.pattern = text).reform(|event: Event| {
        let select = event.target_dyn_into::<HtmlSelectElement>();
        select.map(|select| select.value()).unwrap_or_default()
    });
    let is_preset = PRESETS
        .iter()
        .any(|(_, pattern)| *pattern == setting.pattern);
    html! {
        <>
            <h3>{ "Open frames in" }</h3>
            <select onchange={on_preset} aria-label="Editor">
                <option value="" selected={setting.pattern.is_empty()}>{ "nothing" }</option>
                { for PRESETS.iter().map(|(name, pattern)| html! {
                    <option value={*pattern} selected={*pattern == setting.pattern}>{ *name }</option>
                }) }
                if !is_preset && !setting.pattern.is_empty() {
                    <option value={setting.pattern.clone()} selected=true>{ "your own" }</option>
                }
            </select>
            <label>{ "Address" }
                <input type="text" class="mono" spellcheck="false" placeholder="vscode://file/{path}:{line}"
                    value={setting.pattern.clone()} oninput={on_pattern} />
            </label>
            <label>{ "Folders to replace, one per line" }
                <textarea class="mono" rows="3" spellcheck="false" placeholder="/root/repo=>/home/me/repo"
                    value={setting.swaps.clone()} oninput={on_swaps} />
            </label>
            { outcome(setting) }
        </>
    }
}

/// An error in the setting, or an example of its links.
fn outcome(setting: &EditorSetting) -> Html {
    if setting.pattern.is_empty() {
        return html! { <p class="muted">{ "Frames in stacks become links. The setting is stored in this browser only." }</p> };
    }
    match EditorLinks::parse(&setting.pattern, &setting.swaps) {
        Err(error) => html! { <p class="error" role="status">{ error.to_string() }</p> },
        Ok(links) => {
            let first = setting.swaps.lines().find_map(|line| line.split_once("=>"));
            let folder = first
                .map_or("/code", |(from, _)| from.trim())
                .trim_end_matches('/');
            let file = format!("{folder}/train.py");
            match links.link(&file, 12) {
                Some(link) => {
                    html! { <p class="muted">{ format!("{file}:12 opens ") }<span class="mono">{ link }</span></p> }
                }
                None => html! { <p class="muted">{ format!("{file} has no link") }</p> },
            }
        }
    }
}
