//! The program's steps: memory live after each, and its peak.

use vramscope_core::analysis::time::lanes::{FEW_STEPS, Step, Steps};
use vramscope_view::display;
use yew::prelude::*;

use super::words;
use crate::components::commands::{Commands, use_commands};
use crate::state::{Action, ViewKind, sentences};

#[derive(Properties, PartialEq)]
pub(super) struct StepsSectionProps {
    pub(super) steps: Steps,
    /// Number of older steps that are left out.
    pub(super) left_out: u64,
}

/// The section with the table of steps.
#[component]
pub(super) fn StepsSection(props: &StepsSectionProps) -> Html {
    let commands = use_commands();
    let steps = &props.steps;
    let highest = steps.steps.iter().map(|step| step.totals.peak_bytes).max();
    let highest = highest.unwrap_or(0);
    let titles = [
        "Step",
        "",
        "Live after",
        "Change",
        "Peak",
        "Allocated",
        "Took",
    ];
    let head = |title: &&'static str| match *title {
        // Above the bars.
        "" => html! { <td /> },
        title => html! { <th scope="col">{ title }</th> },
    };
    html! {
        <section class="steps">
            <h2>{ "Steps" }</h2>
            <p class="muted">
                { words::steps_by(steps.by, &steps.pattern) }
                if props.left_out > 0 { { format!(" {} earlier steps are not listed.", display::count(props.left_out)) } }
                if steps.compared().is_none() {
                    { format!(" Whether memory grows from step to step takes {FEW_STEPS} steps to tell, of which at least two are recorded whole.") }
                }
                { " The dark part of a bar is what was live after the step, the light part its peak." }
            </p>
            <div class="wide" tabindex="0"><table>
                <thead><tr>{ for titles.iter().map(head) }</tr></thead>
                <tbody>{ for steps.steps.iter().map(|of| row(&commands, of, highest)) }</tbody>
            </table></div>
        </section>
    }
}

/// A row; `highest` is the highest peak of all steps.
fn row(commands: &Commands, step: &Step, highest: u64) -> Html {
    let totals = &step.totals;
    let part = |bytes| format!("width:{:.3}%", words::share(bytes, highest) * 100.0);
    let us = step.start_us.zip(step.end_us);
    let us = us.map(|(start, end)| end.saturating_sub(start));
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
                <i class="peak" style={part(totals.peak_bytes)} />
                <i class="after" style={part(totals.after_bytes)} />
            </td>
            <td title={sentences::exact_bytes(totals.after_bytes)}>{ display::bytes(totals.after_bytes) }</td>
            <td>{ display::bytes_change(totals.before_bytes, totals.after_bytes) }</td>
            <td title={format!("{}, {}", sentences::exact_bytes(totals.peak_bytes), display::event(totals.peak_moment.into()))}>{ display::bytes(totals.peak_bytes) }</td>
            <td title={sentences::allocations(totals.allocations.into(), totals.allocated_bytes)}>{ display::bytes(totals.allocated_bytes) }</td>
            <td>{ us.map(display::duration).unwrap_or_default() }</td>
        </tr>
    }
}
