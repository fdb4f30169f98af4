//! The table of call sites over all ranks.

use vramscope_protocol::views::fleet::{Answer, Question, SiteLine};
use vramscope_view::display;
use yew::prelude::*;

use super::{PartProps, use_fleet};
use crate::components::virtual_list::{VirtualList, use_window};
use crate::state::fleet_words;

const ROW_PX: f64 = 22.0;
const HEAD_PX: f64 = 24.0;

#[component]
pub(super) fn SiteTable(props: &PartProps) -> Html {
    let (seen, on_window) = use_window();
    let active = use_state_eq(|| None::<u32>);
    let question = Question::Sites {
        shown: props.shown(),
        first: seen.start,
        count: seen.end - seen.start,
    };
    let answered = use_fleet(&props.session, Some(question));
    let sites = answered.and_then(|(answer, _)| match answer.as_deref() {
        Some(Answer::Sites(sites)) => Some(sites.clone()),
        _ => None,
    });
    let rows = sites.as_ref().map_or(0, |sites| sites.all);
    let row = Callback::from(move |row: u32| {
        let line = sites
            .as_ref()
            .and_then(|sites| sites.rows.get(row.checked_sub(sites.first)? as usize));
        line.map_or_else(Html::default, cells)
    });
    let on_active = {
        let active = active.clone();
        Callback::from(move |row: u32| active.set(Some(row)))
    };
    let header = html! {
        <div class="spread-row head"><span>{ "Call site, at each rank's peak" }</span><span class="number">{ "Least" }</span><span class="number">{ "Median" }</span>
            <span class="number">{ "Most" }</span><span class="number" title="The rank with the most">{ "Most on" }</span>
            <span class="number" title="Ranks that have it">{ "Ranks" }</span>
            <span title="Ranks that differ from the rest here">{ "Odd ranks" }</span></div>
    };
    html! {
        <section class="fleet-table" aria-label="Call sites in a table">
            <div class="list-rows">
                <VirtualList ids="site" label="Call sites" {rows} row_px={ROW_PX} head_px={HEAD_PX} {header} {row} active={*active} {on_window} {on_active} is_narrow=true takes_focus=true />
            </div>
        </section>
    }
}

fn cells(site: &SiteLine) -> Html {
    let bytes = |bytes: u64| {
        html! { <span class="number" title={display::bytes_exact(bytes)}>{ display::bytes(bytes) }</span> }
    };
    html! {
        <div class="spread-row">
            <span title={site.label.clone()}>{ &site.label }</span>
            { bytes(site.usual.lowest) }{ bytes(site.usual.median) }{ bytes(site.usual.highest) }
            <span class="number">{ site.most_at }</span>
            <span class="number">{ display::count(site.ranks) }</span>
            <span title={fleet_words::odd_ranks(site)}>{ fleet_words::odd_ranks(site) }</span>
        </div>
    }
}
