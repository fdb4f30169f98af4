//! The differential flame graph: red grew, blue shrank.

use vramscope_protocol::ThemeName;
use vramscope_protocol::views::compare::{
    Answer, ChangeUnit, FlameWidth, Question, SignedBox, SignedFlame,
};
use yew::prelude::*;

use super::ComparedRef;
use crate::canvas::PlotArea;
use crate::components::box_chart::{BoxChart, Boxes};
use crate::components::choice::{Choice, Select};
use crate::components::commands::use_commands;
use crate::components::hooks::{use_answer, use_painted};
use crate::components::site_label::site_label;
use crate::engine::Session;
use crate::state::choices::CompareChoices;
use crate::state::figures::direction_class;
use crate::state::{Action, Shared, sentences};
use vramscope_core::analysis::compare::side::Amount;
use vramscope_view::display;
use vramscope_view::flame::{FlameCell, FlameScene, NodeKey, Shape};

#[derive(Properties, PartialEq)]
pub(super) struct FlamePanelProps {
    pub(super) session: Session,
    pub(super) compared: ComparedRef,
    pub(super) choices: CompareChoices,
    pub(super) theme: ThemeName,
    pub(super) on_choose: Callback<CompareChoices>,
}

/// The answer that is drawn.
#[derive(Clone, PartialEq)]
struct Signed(Shared<Answer>);

impl Signed {
    fn get(&self) -> Option<&SignedFlame> {
        match &*self.0 {
            Answer::Flame(flame) => Some(flame),
            _ => None,
        }
    }
}

impl Boxes for Signed {
    fn scene(&self) -> Option<&FlameScene> {
        Some(&self.get()?.scene)
    }

    fn trail(&self) -> Vec<NodeKey> {
        let cells = self.scene().map_or(&[][..], |scene| &scene.cells);
        let above = cells.iter().take_while(|cell| cell.is_above);
        let focus = cells.iter().find(|cell| !cell.is_above);
        above.chain(focus).map(|cell| cell.key).collect()
    }

    fn tip(&self, place: usize, cell: &FlameCell) -> Html {
        let of = self.get().and_then(|flame| flame.boxes.get(place));
        of.map_or_else(Html::default, |of| tip(cell, of))
    }
}

#[component]
pub(super) fn FlamePanel(props: &FlamePanelProps) -> Html {
    let commands = use_commands();
    let width_css = use_state_eq(|| None::<f64>);
    let signed = use_signed(props, *width_css);
    let choices = &props.choices;
    let on_area = {
        let width_css = width_css.setter();
        Callback::from(move |area: Option<PlotArea>| {
            width_css.set(area.map(|area| area.box_width_css));
        })
    };
    let on_focus = props.on_choose.reform({
        let choices = choices.clone();
        move |focus: Option<NodeKey>| CompareChoices {
            focus: focus.filter(|focus| *focus != NodeKey::ROOT),
            ..choices.clone()
        }
    });
    let on_box = on_focus.reform(|cell: FlameCell| Some(cell.key));
    let search = commands.dispatch.reform(Action::Search);
    let flame = signed.as_ref().and_then(Signed::get);
    let is_empty = flame.is_some_and(|flame| flame.scene.cells.len() < 2);
    html! {
        <>
            { head(flame, &on_focus, &search) }
            <BoxChart<Signed> boxes={signed.clone()} shape={Shape::Icicle} theme={props.theme} class="signed-flame"
                label={AttrValue::from("Call paths: red grew, blue shrank")} {on_area} on_choose={on_box} {on_focus}>
                if is_empty {
                    <p class="hint muted">{ "Nothing here has a width: choose another one above." }</p>
                }
            </BoxChart<Signed>>
        </>
    }
}

/// The boxes for a chart of this width, css px.
#[hook]
fn use_signed(props: &FlamePanelProps, width_css: Option<f64>) -> Option<Signed> {
    let choices = &props.choices;
    let question = width_css
        .zip(props.compared.get())
        .map(|(width_px, compared)| Question::Flame {
            comparison: compared.id,
            width: choices.width,
            unit: choices.unit,
            focus: choices.focus,
            width_px,
            theme: props.theme,
        });
    let answer = use_answer(&props.session, question).and_then(|answered| answered.answer);
    use_painted("compare-flame", answer.clone());
    answer.map(Signed)
}

/// The tooltip of a box.
fn tip(cell: &FlameCell, of: &SignedBox) -> Html {
    let (before, after) = (of.change.before, of.change.after);
    let side = |amount: Amount| sentences::allocations(amount.count, amount.bytes);
    let name = if cell.smaller > 0 {
        html! { <p>{ format!("{} of what it calls, too narrow to show; all of it:", display::count(u64::from(cell.smaller))) }</p> }
    } else {
        html! { <p>{ site_label(&of.name) }</p> }
    };
    html! {
        <>
            <p><strong class={direction_class(after.bytes.cmp(&before.bytes))}>{ display::bytes_change(before.bytes, after.bytes) }</strong>
                <span class="muted">{ format!(" · {} allocations", display::count_change(before.count, after.count)) }</span></p>
            { name }
            <p class="muted">{ format!("A {} · B {}", side(before), side(after)) }</p>
        </>
    }
}

/// The path in focus, and buttons that reset it.
fn head(
    flame: Option<&SignedFlame>,
    focus: &Callback<Option<NodeKey>>,
    search: &Callback<String>,
) -> Html {
    let focused = flame.and_then(|flame| {
        let cells = &flame.scene.cells;
        let last = cells.iter().take_while(|cell| cell.is_above).last()?;
        let place = cells.iter().position(|cell| !cell.is_above)?;
        Some((last.key, flame.boxes.get(place)?))
    });
    let Some((above, focused)) = focused else {
        return html! {
            <p class="flame-key muted">
                <i class="swatch grew" />{ "grew" }<i class="swatch shrank" />{ "shrank" }<i class="swatch same" />{ "unchanged" }
                <span class="grow" />{ "click a box to go closer" }
            </p>
        };
    };
    let (name, change) = (&focused.name, focused.change);
    let text = flame.and_then(|flame| flame.search.clone());
    let search = text.map(|text| search.reform(move |_: MouseEvent| text.clone()));
    html! {
        <div class="flame-key">
            <span class="label" title={name.clone()}>{ site_label(name) }</span>
            <strong class={direction_class(change.after.bytes.cmp(&change.before.bytes))}>{ display::bytes_change(change.before.bytes, change.after.bytes) }</strong>
            <span class="grow" />
            <button type="button" class="outlined" title="Show what is above (Backspace)" onclick={focus.reform(move |_: MouseEvent| Some(above))}>{ "Up" }</button>
            <button type="button" class="outlined" title="Show everything (Escape)" onclick={focus.reform(|_: MouseEvent| None)}>{ "All" }</button>
            if let Some(search) = search {
                <button type="button" class="outlined" title="Search for allocations with this on the stack, in all views" onclick={search}>{ "Search for it" }</button>
            }
        </div>
    }
}

#[derive(Properties, PartialEq)]
pub(super) struct ControlsProps {
    pub(super) choices: CompareChoices,
    pub(super) on_choose: Callback<CompareChoices>,
}

/// The choices of what widths mean and which unit they have.
#[component]
pub(super) fn Controls(props: &ControlsProps) -> Html {
    const WIDTHS: [(FlameWidth, &str); 4] = [
        (FlameWidth::Either, "the larger side"),
        (FlameWidth::Difference, "the difference"),
        (FlameWidth::Before, "A"),
        (FlameWidth::After, "B"),
    ];
    let choices = &props.choices;
    let on_width = {
        let (choices, on_choose) = (choices.clone(), props.on_choose.clone());
        Callback::from(move |place: usize| {
            let width = WIDTHS
                .get(place)
                .map_or(FlameWidth::Either, |(width, _)| *width);
            on_choose.emit(CompareChoices {
                width,
                ..choices.clone()
            });
        })
    };
    let on_unit = {
        let (choices, on_choose) = (choices.clone(), props.on_choose.clone());
        Callback::from(move |place: usize| {
            let unit = if place == 1 {
                ChangeUnit::Count
            } else {
                ChangeUnit::Bytes
            };
            on_choose.emit(CompareChoices {
                unit,
                ..choices.clone()
            });
        })
    };
    let widths: Vec<AttrValue> = WIDTHS.iter().map(|(_, name)| (*name).into()).collect();
    let width = WIDTHS
        .iter()
        .position(|(width, _)| *width == choices.width)
        .unwrap_or(0);
    let units = vec![
        ("bytes", "widths and colours by requested bytes"),
        ("number", "widths and colours by number of allocations"),
    ];
    html! {
        <>
            <Select label="Width" options={widths} chosen={width} on_choose={on_width} />
            <Choice label="Unit" options={units} chosen={usize::from(choices.unit == ChangeUnit::Count)} on_choose={on_unit} />
        </>
    }
}
