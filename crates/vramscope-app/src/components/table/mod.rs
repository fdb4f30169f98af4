//! All allocations in a table that can be sorted, filtered, and saved as CSV.

mod cells;
mod csv;

use vramscope_protocol::views::filter::FilterText;
use vramscope_protocol::views::table::{Answer, Question, Selection, TableOrder, TableWindow};
use yew::prelude::*;

use vramscope_core::analysis::properties::Property;
use vramscope_core::analysis::report::allocations::AllocationRow;
use vramscope_core::ids::AllocationId;
use vramscope_view::colour::Rgb;
use vramscope_view::display;

use super::commands::{Commands, use_commands};
use super::hooks::{use_answer, use_painted};
use super::view_props::ViewProps;
use super::virtual_list::{VirtualList, use_window};
use crate::state::choices::TableChoices;
use crate::state::{Action, Chosen, Navigation, Shared, ViewKind, sentences};
use cells::{Cells, heads};
use csv::CsvButton;

const ROW_PX: f64 = 24.0;
const HEAD_PX: f64 = 28.0;

/// The worker's latest answer.
#[derive(Clone, PartialEq)]
struct Window(Shared<Answer>);

impl Window {
    fn get(&self) -> Option<&TableWindow> {
        match &*self.0 {
            Answer::Rows(window) => Some(window),
            Answer::Csv { .. } => None,
        }
    }

    fn row(&self, row: u32) -> Option<&AllocationRow> {
        self.get()?.rows.get(self.place(row)?)
    }

    /// The colour of a row.
    fn colour(&self, row: u32) -> Option<Rgb> {
        self.get()?.colours.get(self.place(row)?).copied()
    }

    fn place(&self, row: u32) -> Option<usize> {
        Some(row.checked_sub(self.get()?.first)? as usize)
    }
}

#[component]
pub(super) fn TableView(props: &ViewProps) -> Html {
    let commands = use_commands();
    let choices = &props.choices.table;
    let order = order(props);
    let (seen, on_window) = use_window();
    let question = Question::Rows {
        order: order.clone(),
        first: seen.start,
        count: seen.end - seen.start,
        locate: props.view.pinned(),
        moment: props.view.cursor_moment(),
        colour_by: props.look.colour_by,
        theme: props.look.theme,
    };
    let answered = use_answer(&props.session, Some(question));
    let located = answered.as_ref().map(|answered| match &answered.question {
        Question::Rows { locate, order, .. } => (*locate, order.filter.clone(), order.selection),
        Question::Csv { order, .. } => (None, order.filter.clone(), order.selection),
    });
    // In another device, the same rows are other allocations.
    let window = answered
        .filter(|answered| answered.question.order().device == order.device)
        .and_then(|answered| answered.answer.map(Window));
    use_painted(ViewKind::Table.name(), window.clone());
    let active = use_active_row(&order, located, window.as_ref(), &commands);

    let shown = window.as_ref().and_then(Window::get);
    let rows = shown.map_or(0, |shown| shown.all_rows);
    let columns = shown.map(|shown| shown.columns.clone());
    let cells = Cells::of(props, columns.unwrap_or_default());
    let (template, width_px) = cells.layout();
    let header = heads(&cells, choices, sort(&commands, choices));
    let row = row(&window, cells);
    let row_classes = row_classes(&window, props.view.pinned());
    let on_open = open(&commands, window.clone());
    let style = format!("--table-width:{width_px}px;--columns:{template}");
    html! {
        <section class="view table" aria-label="Allocations" {style}>
            <div class="table-bar">
                <p class="sums">{ shown.map(|shown| sums(props, shown)) }</p>
                { limits(&commands, props) }
                <CsvButton session={props.session.clone()} order={order.clone()} name={props.file.opened.file.name.clone()} />
            </div>
            <div class="table-rows">
                <VirtualList key={format!("{:?} {}", order.column, order.is_descending)} label="Allocations" {rows} row_px={ROW_PX} head_px={HEAD_PX} {header} {row}
                    active={*active} on_active={active.on_active()} on_enter={active.on_active()} {row_classes} {on_window} {on_open} takes_focus=true />
                if rows == 0 && shown.is_some() {
                    <p class="table-empty">{ empty(props) }</p>
                }
            </div>
        </section>
    }
}

/// What the table lists, and how.
fn order(props: &ViewProps) -> TableOrder {
    let choices = &props.choices.table;
    TableOrder {
        device: props.look.device,
        filter: props.look.filter.clone(),
        selection: choices.selection(&props.places),
        column: choices.column,
        is_descending: choices.is_descending,
    }
}

/// Renders a row; it is empty until its data arrives.
fn row(window: &Option<Window>, cells: Cells) -> Callback<u32, Html> {
    let window = window.clone();
    Callback::from(move |row: u32| {
        let of = |window: &Window| {
            let colour = window.colour(row).unwrap_or_default();
            Some(cells.row(window.row(row)?, colour))
        };
        window.as_ref().and_then(of).unwrap_or_default()
    })
}

/// Style classes of a row: the pinned allocation's is marked.
fn row_classes(window: &Option<Window>, pinned: Option<AllocationId>) -> Callback<u32, Classes> {
    let window = window.clone();
    Callback::from(move |row: u32| {
        let row = window.as_ref().and_then(|window| window.row(row));
        let allocation = row.map(|row| row.allocation);
        classes!((allocation.is_some() && allocation == pinned).then_some("active"))
    })
}

fn empty(props: &ViewProps) -> &'static str {
    let is_all = props.choices.table.selection(&props.places) == Selection::All;
    match (props.look.filter.is_none(), is_all) {
        (true, true) => "This device has no allocations.",
        (false, true) => "Nothing matches the search.",
        (true, false) => "No allocation is selected.",
        (false, false) => "Nothing that is selected matches the search.",
    }
}

/// What the list is limited to, with the way to all allocations and back; empty if nothing is selected.
fn limits(commands: &Commands, props: &ViewProps) -> Html {
    let Some(chosen) = props.places.chosen() else {
        return Html::default();
    };
    let choices = &props.choices.table;
    let is_limited = choices.selection(&props.places) != Selection::All;
    let words = props.places.words(chosen);
    let onclick = commands.on(Action::Choose(Chosen::Table(TableChoices {
        only_selected: Some(!is_limited),
        ..choices.clone()
    })));
    html! {
        <p class={classes!("limits", is_limited.then_some("on"))}>
            if is_limited { <span>{ &words }</span> }
            <button type="button" class="plain" {onclick}>
                { if is_limited { "Show all".to_owned() } else { format!("Only those {words}") } }
            </button>
        </p>
    }
}

/// Totals of all rows of the table.
fn sums(props: &ViewProps, window: &TableWindow) -> Html {
    let totals = &window.totals;
    let facts = props.file.facts();
    let place = facts.map_or("", |facts| sentences::live_when(facts, &props.view));
    let live = format!("{} live {place}", display::bytes(totals.live_bytes));
    if facts.is_none_or(|facts| !facts.has_trace) {
        return html! {
            <>
                <b>{ sentences::count_of(totals.count, "allocation", "allocations") }</b>
                <span title={display::bytes_exact(totals.live_bytes)}>{ " · " }{ live }</span>
            </>
        };
    }
    let highest = format!("at most {} at once", display::bytes(totals.highest_bytes));
    let all = format!("{} requested over time", display::bytes(totals.bytes));
    html! {
        <>
            <b>{ sentences::count_of(totals.count, "allocation", "allocations") }</b>
            <span title={display::bytes_exact(totals.live_bytes)}>{ " · " }{ live }</span>
            <span title={format!("{}, after event {}", display::bytes_exact(totals.highest_bytes),
                display::count(u64::from(totals.highest_moment)))}>{ " · " }{ highest }</span>
            <span title={display::bytes_exact(totals.bytes)}>{ " · " }{ all }</span>
        </>
    }
}

fn sort(commands: &Commands, choices: &TableChoices) -> Callback<Property> {
    let choices = choices.clone();
    commands
        .dispatch
        .reform(move |column| Action::Choose(Chosen::Table(choices.sort_by(column))))
}

/// Shows an allocation in the timeline.
fn open(commands: &Commands, window: Option<Window>) -> Callback<u32> {
    let dispatch = commands.dispatch.clone();
    Callback::from(move |row: u32| {
        if let Some(row) = window.as_ref().and_then(|window| window.row(row)) {
            dispatch.emit(Action::Pin(row.allocation));
            dispatch.emit(Action::View(ViewKind::Timeline));
            dispatch.emit(Action::Navigate(Navigation::FitPinned));
        }
    })
}

/// The active row: where keys have moved to, else the pinned allocation's.
struct ActiveRow {
    row: UseStateHandle<Option<u32>>,
    wanted: UseStateHandle<Option<u32>>,
}

impl std::ops::Deref for ActiveRow {
    type Target = Option<u32>;

    fn deref(&self) -> &Option<u32> {
        &self.row
    }
}

impl ActiveRow {
    fn on_active(&self) -> Callback<u32> {
        let (row, wanted) = (self.row.clone(), self.wanted.clone());
        Callback::from(move |to| {
            row.set(Some(to));
            wanted.set(Some(to));
        })
    }
}

/// Moving with keys pins the allocation of the row, once its data is there. An allocation pinned
/// elsewhere makes its row active. Sorting moves to the top.
#[hook]
fn use_active_row(
    order: &TableOrder,
    located: Option<(Option<AllocationId>, Option<FilterText>, Selection)>,
    window: Option<&Window>,
    commands: &Commands,
) -> ActiveRow {
    let row = use_state_eq(|| None::<u32>);
    let wanted = use_state_eq(|| None::<u32>);
    let place = window.and_then(Window::get).and_then(|window| window.place);
    {
        let row = row.clone();
        let is_moving = wanted.is_some();
        use_effect_with(located, move |_| {
            if !is_moving {
                row.set(place);
            }
        });
    }
    {
        let (row, is_first) = (row.clone(), use_mut_ref(|| true));
        use_effect_with((order.column, order.is_descending), move |_| {
            if !is_first.replace(false) {
                row.set(None);
            }
        });
    }
    let there = (*wanted)
        .and_then(|row| window?.row(row))
        .map(|row| row.allocation);
    {
        let (wanted, dispatch) = (wanted.clone(), commands.dispatch.clone());
        use_effect_with((*wanted, there), move |&(_, there)| {
            if let Some(allocation) = there {
                wanted.set(None);
                dispatch.emit(Action::Pin(allocation));
            }
        });
    }
    ActiveRow { row, wanted }
}
