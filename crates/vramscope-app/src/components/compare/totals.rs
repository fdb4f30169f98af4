//! The totals of both sides, in one line.

use yew::prelude::*;

use super::ComparedRef;
use crate::state::figures::{FigureRow, direction_class, totals};
use crate::state::sentences;
use vramscope_core::analysis::compare::side::Amount;
use vramscope_view::display;

#[derive(Properties, PartialEq)]
pub(super) struct TotalsProps {
    pub(super) compared: ComparedRef,
}

/// The totals.
#[component]
pub(super) fn Totals(props: &TotalsProps) -> Html {
    let Some(compared) = props.compared.get() else {
        return Html::default();
    };
    let part = |name: &'static str, meaning: &'static str, amount: Amount| {
        let title = format!(
            "{meaning}: {}",
            sentences::allocations(amount.count, amount.bytes)
        );
        html! {
            <div class="part" {title}><dt>{ name }</dt><dd>{ display::bytes(amount.bytes) }</dd></div>
        }
    };
    html! {
        <dl class="totals">
            { for totals(compared).iter().map(figure) }
            if let Some(turnover) = &compared.turnover {
                { part("kept", "Live at both moments", turnover.kept) }
                { part("freed", "Live at A, gone at B", turnover.freed) }
                { part("new, not freed", "Allocated after A and still live at B", turnover.new) }
            }
        </dl>
    }
}

fn figure(row: &FigureRow) -> Html {
    html! {
        <div class="figure" title={row.exact.clone()}>
            <dt>{ row.name }</dt>
            <dd>{ format!("{} → {}", row.before, row.after) }
                <span class={classes!("change", direction_class(row.direction))}>{ row.change.clone() }</span>
            </dd>
        </div>
    }
}
