//! The program's steps: what was live after each, and at its peak.

use vramscope_view::display;
use yew::prelude::*;

use super::words;
use crate::components::commands::{Commands, use_commands};
use crate::protocol::views::overview::{StepRow, StepTable};
use crate::state::{Action, ViewKind, sentences};

#[derive(Properties, PartialEq)]
pub(super) struct StepsSectionProps {
    pub(super) steps: StepTable,
}

/// The table of steps.
#[component]
pub(super) fn StepsSection(props: &StepsSectionProps) -> Html {
    let commands = use_commands();
    let steps = &props.steps;
    let titles = [
        "Step",
        "",
        "Live after",
        "Change",
        "Peak",
        "Allocated",
        "Took",
    ];
    html! {
        <section class="steps">
            <h3>{ "Steps" }</h3>
            <p class="muted">
                { words::steps_by(steps.by, &steps.pattern) }
                if steps.left_out > 0 { { format!(" {} earlier steps are not listed.", display::count(steps.left_out)) } }
                { " The dark part of a bar is what was live after the step, the light part its peak." }
            </p>
            <div class="wide"><table>
                <thead><tr>{ for titles.iter().map(|title| html! { <th scope="col">{ *title }</th> }) }</tr></thead>
                <tbody>{ for steps.rows.iter().map(|of| row(&commands, of)) }</tbody>
            </table></div>
        </section>
    }
}

fn row(commands: &Commands, step: &StepRow) -> Html {
    let dispatch = commands.dispatch.clone();
    let moments = step.moments;
    let go = Callback::from(move |_: MouseEvent| {
        dispatch.emit(Action::View(ViewKind::Timeline));
        dispatch.emit(Action::SelectMoments(moments));
    });
    let (from, to) = moments;
    let name = if step.is_whole {
        display::count(step.number)
    } else {
        format!("{} (cut off)", display::count(step.number))
    };
    html! {
        <tr>
            <th scope="row">
                <button type="button" class="plain" onclick={go}
                    title={format!("Select events {} to {} in the timeline", display::count(u64::from(from) + 1), display::count(to.into()))}>{ name }</button>
            </th>
            <td class="lane">
                <i class="peak" style={format!("width:{:.3}%", step.peak_share * 100.0)} />
                <i class="after" style={format!("width:{:.3}%", step.after_share * 100.0)} />
            </td>
            <td title={sentences::exact_bytes(step.after_bytes)}>{ display::bytes(step.after_bytes) }</td>
            <td>{ display::bytes_change(step.before_bytes, step.after_bytes) }</td>
            <td title={format!("{}, {}", sentences::exact_bytes(step.peak_bytes), display::event(step.peak_moment.into()))}>{ display::bytes(step.peak_bytes) }</td>
            <td title={sentences::allocations(step.allocations.into(), step.allocated_bytes)}>{ display::bytes(step.allocated_bytes) }</td>
            <td>{ step.us.map(display::duration).unwrap_or_default() }</td>
        </tr>
    }
}
